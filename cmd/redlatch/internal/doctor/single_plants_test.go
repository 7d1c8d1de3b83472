package doctor_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

const (
	dead  = "11111111-1111-8111-8111-111111111111" // the uuid of a client
	month = 30 * 24 * time.Hour
)

// singlePlants stand on one server, which is healthy between them.
var singlePlants = []plant{
	{finds: "unreachable", client: func(_ *testing.T, _ *site, o *redis.Options) { o.Addr = "127.0.0.1:1" }},
	{finds: "database", client: func(_ *testing.T, _ *site, o *redis.Options) { o.DB = 99 }},
	{finds: "refused", client: func(_ *testing.T, _ *site, o *redis.Options) { o.Password = "wrong" }},
	{finds: "round-trip", client: slowPings},
	{finds: "version", client: oldVersion},
	{finds: "several-masters", client: over(replace("role:master\r\nconnected_slaves:0\r\n", "role:active-replica\r\nstranger:0\r\n"), nil)},
	{finds: "slow-commands", set: slowCommand},
	{finds: "writes-refused", set: configure("min-replicas-to-write", "1")},
	{finds: "memory-full", also: []string{"memory-high"}, set: configure("maxmemory", "1")},
	{finds: "memory-high", set: almostFull},
	{finds: "no-scripts", rules: []string{"-eval", "-evalsha"}},
	{finds: "acl-commands", rules: []string{"-zadd", "-pexpire"}},
	{finds: "acl-commands-optional", rules: []string{"-rpush"}},
	{finds: "acl-keys", also: []string{"acl-keys-optional"}, prefix: "app:", rules: []string{"resetkeys", "~app:*", "~{app:*"}},
	{
		finds: "acl-keys-optional", prefix: "app:",
		rules: []string{"resetkeys", "~app:*", "~{app:*", "~redisson_*", "~redlatch_lanes*", "~redlatch_latch*", "~redlatch_rwlock_readers*"},
	},
	{finds: "no-publish", rules: []string{"-publish"}},
	{finds: "no-subscribe", rules: []string{"-subscribe"}},
	{finds: "acl-channels", prefix: "app:", rules: []string{"resetchannels", "&redisson_lock*"}},
	{finds: "message-lost", client: over(withoutMessages, nil)},
	{finds: "clock-step", client: over(fastClock(), nil)},
	{finds: "eviction-all", set: both(configure("maxmemory", "1gb"), configure("maxmemory-policy", "allkeys-lru"))},
	{finds: "eviction-volatile", set: both(configure("maxmemory", "1gb"), configure("maxmemory-policy", "volatile-ttl"))},
	{finds: "fsync-never", set: configure("appendfsync", "no")},
	{finds: "fsync-on-rewrite", set: configure("no-appendfsync-on-rewrite", "yes")},
	{finds: "idle-timeout", set: configure("timeout", "10")},
	{finds: "keepalive-off", set: configure("tcp-keepalive", "0")},
	{finds: "pubsub-buffer", set: configure("client-output-buffer-limit", "pubsub 100000 50000 10")},
	{finds: "many-clients", set: manyClients},
	{finds: "plain-password", client: over(nil, elsewhere), set: configure("requirepass", "of the default user")},
	{finds: "open-server", also: []string{"plain-password"}, client: over(nil, elsewhere)},
	{finds: "certificate-ends", client: secured(month/3, true)},
	{finds: "certificate-unverified", client: secured(12*month, false)},
	{finds: "twin-names", set: func(t *testing.T, s *site) {
		for _, name := range []string{"twins", "{twins}"} {
			s.do(t, "set", name, 3)
		}
		s.do(t, "zadd", "{twins}:timeout", time.Now().Add(time.Hour).UnixMilli(), "permit-of-one-of-the-two")
		t.Cleanup(func() { s.nodes[0].Del(context.Background(), "twins", "{twins}", "{twins}:timeout") })
	}},
	{finds: "lock-without-ttl", set: func(t *testing.T, s *site) {
		s.do(t, "hset", "jobs", dead+":7", 1)
		t.Cleanup(func() { s.nodes[0].Del(context.Background(), "jobs") })
	}},
	{finds: "holder-silent", set: func(t *testing.T, s *site) {
		s.do(t, "hset", "jobs", dead+":7", 1)
		s.do(t, "pexpire", "jobs", time.Minute.Milliseconds())
		s.enter(t, registry.Thing{Kind: "lock", Key: "jobs", Holds: 1, HeldSince: 1, Owners: []registry.Owner{{ID: "7", Since: 1}}})
	}},
	{finds: "permits-of-dead", set: func(t *testing.T, s *site) {
		s.do(t, "set", "jobs", 3)
		s.enter(t, registry.Thing{Kind: "semaphore", Key: "jobs", Holds: 2, HeldSince: 1})
	}},
	{finds: "client-versions", set: clients(registry.About{Library: "redlatch v1.2.0"}, registry.About{Library: "redlatch v1.3.0"})},
	{finds: "client-timeouts", set: clients(registry.About{Program: "billing", Timeout: 30_000}, registry.About{Program: "billing", Timeout: 10_000})},
}

func TestEachPlantOnASingleServerIsFound(t *testing.T) {
	s := single(start(t))
	for _, p := range singlePlants {
		s.try(t, p)
	}
	require.Empty(t, wrong(s.examine(t, plant{})), "the server was healthy between the plants")
}

// startPlants stand on a server of their own each, which keeps nothing.
var startPlants = []plant{
	{finds: "persistence-off"},
	{finds: "persistence-fails", also: []string{"writes-refused"}, set: func(t *testing.T, s *site) {
		s.do(t, "config", "set", "save", "3600 1")
		s.do(t, "set", "something", "to save")
		folder, err := s.nodes[0].ConfigGet(t.Context(), "dir").Result()
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(folder["dir"]))
		s.do(t, "bgsave")
		redistest.Eventually(t, "the server has failed to save", func() bool {
			info, err := s.nodes[0].Info(t.Context(), "persistence").Result()
			return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
		})
	}},
}

func TestEachPlantOfAServersStartIsFound(t *testing.T) {
	for _, p := range startPlants {
		single(start(t, "--appendonly", "no")).try(t, p)
	}
}

// try plants, and looks for it as a user who may see everything, and as one who may not.
func (s *site) try(t *testing.T, p plant) {
	t.Run(p.finds, func(t *testing.T) {
		if p.set != nil {
			p.set(t, s)
		}
		sighted := s.examine(t, p)
		require.Contains(t, found(sighted), p.finds)
		require.Subset(t, append(p.also, p.finds), wrong(sighted), "nothing else is wrong")

		little := s.examine(t, p, blind...)
		require.Contains(t, append(found(little), unseen(little)...), p.finds, "it must not pass for fine")
		require.Subset(t, append(p.also, p.finds), wrong(little), "nothing else is wrong")
	})
}

func both(set ...func(*testing.T, *site)) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		for _, one := range set {
			one(t, s)
		}
	}
}

// replace has the wire say something else of the same length.
func replace(what, by string) func([]byte) []byte {
	if len(what) != len(by) {
		panic(fmt.Sprintf("%q and %q differ in length", what, by))
	}
	return func(read []byte) []byte { return bytes.ReplaceAll(read, []byte(what), []byte(by)) }
}

func oldVersion(t *testing.T, s *site, o *redis.Options) {
	said, err := s.nodes[0].Do(t.Context(), "hello").Result()
	require.NoError(t, err)
	version := said.(map[any]any)["version"].(string)
	over(replace(version, "5"+version[1:]), nil)(t, s, o)
}

func slowPings(t *testing.T, s *site, o *redis.Options) {
	over(func(read []byte) []byte {
		if bytes.HasPrefix(read, []byte("+PONG")) {
			time.Sleep(150 * time.Millisecond) // the network's
		}
		return read
	}, nil)(t, s, o)
}

func withoutMessages(read []byte) []byte {
	if bytes.Contains(read, []byte("\r\nmessage\r\n")) {
		return nil
	}
	return read
}

// fastClock has a server's clock run twenty times as fast as it should.
func fastClock() func([]byte) []byte {
	began := time.Now().UnixMicro() / 1e6 * 1e6
	return clockThatSays(func(micros int64) int64 { return began + (micros-began)*20 })
}

// clockThatSays changes what a server says of its clock, in microseconds.
func clockThatSays(other func(micros int64) int64) func([]byte) []byte {
	reply := regexp.MustCompile(`^\*2\r\n\$10\r\n([0-9]{10})\r\n\$[0-9]\r\n([0-9]+)\r\n$`)
	return func(read []byte) []byte {
		at := reply.FindSubmatch(read)
		if at == nil {
			return read
		}
		seconds, _ := strconv.ParseInt(string(at[1]), 10, 64)
		micros, _ := strconv.ParseInt(string(at[2]), 10, 64)
		said := other(seconds*1e6 + micros)
		width := len(at[2])
		return bytes.Replace(bytes.Replace(read, at[1], fmt.Append(nil, said/1e6), 1), at[2], fmt.Appendf(nil, "%0*d", width, said%1e6)[:width], 1)
	}
}

// slowCommand finds out how many rounds of a loop this machine needs.
func slowCommand(t *testing.T, s *site) {
	t.Cleanup(func() { s.nodes[0].Do(context.Background(), "slowlog", "reset") })
	for rounds := 10_000_000; ; rounds *= 2 {
		s.do(t, "eval", "for i = 1, ARGV[1] do end return 1", 0, rounds)
		slow, err := s.nodes[0].SlowLogGet(t.Context(), 1).Result()
		require.NoError(t, err)
		if len(slow) > 0 && slow[0].Duration > 550*time.Millisecond {
			return
		}
	}
}

// almostFull leaves room for what the doctor itself needs.
func almostFull(t *testing.T, s *site) {
	s.do(t, "setrange", "big", 64<<20, "x")
	t.Cleanup(func() { s.nodes[0].Del(context.Background(), "big") })
	info, err := s.nodes[0].Info(t.Context(), "memory").Result()
	require.NoError(t, err)
	_, rest, _ := strings.Cut(info, "used_memory:")
	var used int64
	_, err = fmt.Sscan(rest, &used)
	require.NoError(t, err)
	configure("maxmemory", fmt.Sprint(used*20/19))(t, s)
}

func manyClients(t *testing.T, s *site) {
	configure("maxclients", "300")(t, s)
	for range 275 {
		conn, err := net.Dial("tcp", s.addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
	}
	redistest.Eventually(t, "the server has accepted them", func() bool {
		info, err := s.nodes[0].Info(t.Context(), "clients").Result()
		return err == nil && !strings.Contains(info, "connected_clients:1\r") && strings.Contains(info, "connected_clients:27")
	})
}

// enter writes the entry of a client that reported an hour ago.
func (s *site) enter(t *testing.T, thing registry.Thing) {
	about := registry.About{Version: registry.Version, Host: "web-3", PID: 17, Program: "billing", Timeout: 30_000}
	s.report(t, dead, time.Hour, about, thing)
}

// report writes the entry of a client that was seen so long ago, as long as the test lasts.
func (s *site) report(t *testing.T, uuid string, ago time.Duration, about registry.About, thing registry.Thing) {
	at, err := s.nodes[0].Time(t.Context()).Result()
	require.NoError(t, err)
	index, entry, seen := registry.Index("", registry.Bucket(uuid)), registry.Entry("", uuid), at.Add(-ago).UnixMilli()
	s.do(t, "zadd", index, seen, uuid)
	s.do(t, "hset", entry, registry.AboutField, about.JSON(), registry.SeenField, seen, thing.Field(), thing.Value())
	t.Cleanup(func() { s.nodes[0].Del(context.Background(), index, entry, thing.Key) })
}

// clients writes the entries of clients that wait for a lock.
func clients(abouts ...registry.About) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		for i, about := range abouts {
			about.Version = registry.Version
			s.report(t, fmt.Sprintf("%02x111111-1111-8111-8111-111111111111", i), 0, about, registry.Thing{Kind: "lock", Key: "jobs", Waiters: 1, WaitingSince: 1})
		}
	}
}
