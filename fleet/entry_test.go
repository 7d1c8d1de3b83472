package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/scripts/entry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

func TestClientsSayWhatTheyUse(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix := srv.Client(t), srv.Key(t, "tenant")+":"
		about := webAbout
		about.Started, about.Runtime, about.Client, about.Instance = 1700000000000, "go1.26", "go-redis v9", "abc"
		enter(t, client, prefix, ours, 2*time.Second, about, registry.Thing{
			Kind: "lock", Key: "a:b c\x00\xff", Holds: 2, HeldSince: 5, Waiters: 3, WaitingSince: 6, Waits: 7, Waited: 8,
			Owners: []registry.Owner{{ID: "7", Since: 5}, {ID: "-8", Since: 6}}})
		enter(t, client, prefix, other, 0, registry.About{Version: 1, Host: "web-1"})
		enter(t, client, "", java, 0, registry.About{Version: 1, Host: "elsewhere"})
		clients, err := fleet.Clients(t.Context(), client, fleet.WithRegistry(prefix))
		require.NoError(t, err)
		require.Len(t, clients, 2)
		require.Equal(t, "web-1", clients[0].Host)
		c := clients[1]
		require.InDelta(t, 2*time.Second, c.LastSeen, float64(time.Second))
		c.LastSeen = 0
		require.Equal(t, &fleet.Client{
			ID: ours, Seen: c.Seen, Interval: 5 * time.Second, Host: "web-3", PID: 17, Program: "billing", Label: "blue", Instance: "abc",
			Started: time.UnixMilli(1700000000000), Language: "go", Library: "redlatch v1.0.0", Runtime: "go1.26", Driver: "go-redis v9",
			Timeout: 30 * time.Second,
			Objects: []fleet.ClientObject{{
				Kind: redlatch.KindLock, Key: "a:b c\x00\xff", Holds: 2, HeldSince: time.UnixMilli(5), Waiters: 3, WaitingSince: time.UnixMilli(6),
				Waits: 7, Waited: 8 * time.Millisecond,
				Owners: []fleet.Owner{{ID: ours + ":7", Since: time.UnixMilli(5)}, {ID: ours + ":-8", Since: time.UnixMilli(6)}},
			}},
		}, c)
	})
}

func TestALargeEntryIsReadInSteps(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix := srv.Client(t), srv.Key(t, "tenant")+":"
		var things []registry.Thing
		for i := range 3000 {
			things = append(things, registry.Thing{Kind: "lock", Key: fmt.Sprintf("lock:%04d", i), Holds: 1, HeldSince: 5})
		}
		enter(t, client, prefix, ours, 0, webAbout, things...)
		clients, err := fleet.Clients(t.Context(), client, fleet.WithRegistry(prefix))
		require.NoError(t, err)
		require.Len(t, clients[0].Objects, 3000)
		require.Equal(t, "lock:0000", clients[0].Objects[0].Key)
		if srv.Real {
			require.Greater(t, srv.CommandStats(t)["hscan"], int64(3))
		}
	})
}

func TestAnEntryThatMakesNoSenseIsToldAndHidesNoOther(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix, name := srv.Client(t), srv.Key(t, "tenant")+":", srv.Key(t, "lock")
		ctx := t.Context()
		enter(t, client, prefix, ours, 0, webAbout, registry.Thing{Kind: "lock", Key: name, Waiters: 1, WaitingSince: 5})
		bad := func(id string) string {
			require.NoError(t, client.ZAdd(ctx, registry.Index(prefix, registry.Bucket(id)), redis.Z{Member: id, Score: 1}).Err())
			return registry.Entry(prefix, id)
		}
		require.NoError(t, client.RPush(ctx, bad(clientID(1)), "x").Err())                       // no hash
		require.NoError(t, client.HSet(ctx, bad(clientID(2)), "about", "[]", "seen", 1).Err())   // no object
		require.NoError(t, client.HSet(ctx, bad(clientID(3)), "about", "{}", "seen", "x").Err()) // no time
		require.NoError(t, client.HSet(ctx, bad(clientID(4)), "about", "{}").Err())              // none at all
		require.NoError(t, client.HSet(ctx, bad(clientID(5)), "about", "{}", "seen", "9223372036854775807", "t:lock:"+name, "1,1", "t:lock:other", "1,9223372036854775807,1,9223372036854775807,0,9223372036854775807,7@9223372036854775807").Err())
		require.NoError(t, client.ZAdd(ctx, registry.Index(prefix, 0), redis.Z{Member: "\x1b[2J", Score: 1}, redis.Z{Member: clientID(7), Score: 1}).Err())
		require.NoError(t, client.Set(ctx, registry.Index(prefix, 63), "x", 0).Err()) // an index that is none
		bad(clientID(6))                                                              // gone: that is no mistake

		clients, err := fleet.Clients(ctx, client, fleet.WithRegistry(prefix))
		require.NoError(t, err)
		require.Len(t, clients, 2)
		for _, c := range clients {
			require.False(t, c.Seen.Year() > 9999)
			require.GreaterOrEqual(t, c.LastSeen, time.Duration(0))
		}

		o := get(t, client, redlatch.KindLock, name, fleet.WithRegistry(prefix))
		require.Len(t, o.Waiting.Processes, 1)
		require.Equal(t, "web-3 billing pid 17 (blue)", o.Waiting.Processes[0].Who())
		require.Len(t, o.Unreadable, 8)
		text := fmt.Sprint(o.Unreadable)
		require.Contains(t, text, "WRONGTYPE")
		require.Contains(t, text, `\x1b[2J`)
		require.NotContains(t, text, "\x1b")
	})
}

// A client of a later version may hold what this one has no word for.
func TestAKindThatIsNotKnownIsReadAndHidesNothing(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix, name := srv.Client(t), srv.Key(t, "tenant")+":", srv.Key(t, "lock")
		enter(t, client, prefix, ours, 0, webAbout, registry.Thing{Kind: "fair lock", Key: name, Holds: 1, HeldSince: 5},
			registry.Thing{Kind: "teapot", Key: name, Waiters: 1, WaitingSince: 5}, registry.Thing{Kind: "lock", Key: name, Waiters: 2, WaitingSince: 5})
		clients, err := fleet.Clients(t.Context(), client, fleet.WithRegistry(prefix))
		require.NoError(t, err)
		kinds := map[redlatch.Kind]bool{}
		for _, use := range clients[0].Objects {
			kinds[use.Kind] = true
		}
		require.Equal(t, map[redlatch.Kind]bool{"fair lock": true, "teapot": true, redlatch.KindLock: true}, kinds)

		report, err := fleet.List(t.Context(), client, fleet.WithRegistry(prefix))
		require.NoError(t, err)
		for _, o := range append(report.Objects, get(t, client, fleet.Detect, name, fleet.WithRegistry(prefix))) {
			if o.Key == name {
				require.Equal(t, redlatch.KindLock, o.Kind)
				require.Empty(t, o.Unreadable)
				require.EqualValues(t, 2, o.Waiting.Processes[0].Calls)
			}
		}
	})
}

func TestWhatTheReportScriptWritesIsRead(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix, name := srv.Client(t), srv.Key(t, "tenant")+":", srv.Key(t, "lock")
		require.NoError(t, client.HSet(t.Context(), name, ours+":7", 2).Err())
		about := webAbout
		reply, err := statetest.Send(t.Context(), client, entry.Write(entry.Report{
			Names: entry.NamesOf(prefix, ours),
			TTL:   time.Hour, Whole: true, About: about.JSON(), Age: time.Hour,
			Things: []registry.Thing{{
				Kind: "lock", Key: name, Holds: 2, HeldSince: entry.Ago(time.Minute), Waiters: 3, WaitingSince: entry.Ago(time.Second),
				Waits: 4, Waited: 5000, Owners: []registry.Owner{{ID: "7", Since: entry.Ago(time.Minute)}},
			}},
		}))
		require.NoError(t, err)
		require.True(t, reply.Written)
		o := get(t, client, redlatch.KindLock, name, fleet.WithRegistry(prefix))
		require.Empty(t, o.Unreadable)
		require.Empty(t, o.Unconfirmed)
		require.Equal(t, []string{"web-3 billing pid 17 (blue)  2"}, holders(o))
		at := now(t, client)
		require.InDelta(t, at-60_000, o.Holders[0].Since.UnixMilli(), 10_000)
		require.InDelta(t, at-3_600_000, o.Holders[0].Client.Started.UnixMilli(), 10_000)
		require.EqualValues(t, 3, o.Waiting.Processes[0].Calls)
		u := o.Holders[0].Client.Objects[0]
		require.EqualValues(t, 4, u.Waits)
		require.Equal(t, 5*time.Second, u.Waited)
	})
}

// Whoever may write to the index, and to nothing else, decides neither how long a view takes nor how much memory, nor who is dead.
func TestAForgedIndexIsReadToACertainSizeOnly(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	enter(t, client, "", ours, 30*time.Second, webAbout)
	require.NoError(t, client.HSet(t.Context(), registry.Entry("", ours), registry.EveryField, 10_000).Err())
	at := now(t, client)
	forge := func(key string, n int, score float64, name string) {
		members := make([]redis.Z, n)
		for i := range members {
			members[i] = redis.Z{Member: fmt.Sprintf(name, i), Score: score}
		}
		require.NoError(t, client.ZAdd(t.Context(), key, members...).Err())
	}
	forge(registry.Index("", 1), 20_000, float64(at+600_000), "01%06x-1111-8111-8111-111111111111")
	forge(registry.Index("", 2), 300, 9e15, "02%06x-1111-8111-8111-111111111111")
	forge(registry.Index("", 3), 300, float64(at+600_000), "no uuid %d")
	clients, err := fleet.Clients(t.Context(), client)
	require.NoError(t, err)
	require.Len(t, clients, 1)
	require.Equal(t, 10*time.Second, clients[0].Interval)
	require.False(t, clients[0].Silent())

	before := srv.CommandStats(t)
	o := get(t, client, redlatch.KindLock, "free")
	asked := srv.CommandStats(t)["hmget"] - before["hmget"]
	require.LessOrEqual(t, asked, int64(4097))
	text := fmt.Sprint(o.Unreadable)
	require.Contains(t, text, "more than 4096 members")
	require.Contains(t, text, "has 300 members whose entries are to end later")
	require.Contains(t, text, "292 more members")
	require.Len(t, o.Unreadable, 1+1+9)
}

func TestHowOftenAClientReportsIsBelievedWithinBounds(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix := srv.Client(t), srv.Key(t, "tenant")+":"
		for every, want := range map[string]time.Duration{
			"": 5 * time.Second, "x": 5 * time.Second, "-1": 5 * time.Second, "100000": 100 * time.Second, "9223372036854775807": 2 * time.Minute,
		} {
			enter(t, client, prefix, ours, 0, webAbout)
			if every != "" {
				require.NoError(t, client.HSet(t.Context(), registry.Entry(prefix, ours), registry.EveryField, every).Err())
			}
			clients, err := fleet.Clients(t.Context(), client, fleet.WithRegistry(prefix))
			require.NoError(t, err)
			require.Equal(t, want, clients[0].Interval, every)
			require.NoError(t, client.Del(t.Context(), registry.Entry(prefix, ours)).Err())
		}
	})
}

func TestAnEntryOfNonsenseIsToldInAFewLines(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix := srv.Client(t), srv.Key(t, "tenant")+":"
		enter(t, client, prefix, ours, 0, webAbout)
		for i := range 100 {
			require.NoError(t, client.HSet(t.Context(), registry.Entry(prefix, ours), fmt.Sprintf("t:lock:%d", i), strings.Repeat("x", 1000)).Err())
		}
		report, err := fleet.List(t.Context(), client, fleet.WithRegistry(prefix))
		require.NoError(t, err)
		require.Len(t, report.Clients, 1)
		require.Len(t, report.Unreadable, 9)
		require.Contains(t, report.Unreadable[8].String(), "92 more fields")
		for _, u := range report.Unreadable {
			require.Less(t, len(u.String()), 1000)
		}
	})
}

func TestAUserWhoMayOnlyReadSeesHoldersAndWaiters(t *testing.T) {
	srv := redistest.Real(t)
	client := srv.Client(t)
	names := everyKind(t, func(kind string) string { return srv.Key(t, kind) }, func() redlatch.Client { return srv.Client(t) })
	rules := []string{"resetchannels", "-@all", "+@read", "+@connection", "+time", "+pubsub", "+info"}
	if srv.Has(t, servers.ShardedChannels) { // as old as rights to keys that are for reading alone
		rules = append(rules, "resetkeys", "%R~*")
	}
	user := srv.User(t, rules...)
	_, report := list(t, user)
	require.Len(t, report.Objects, len(names)+1)
	for kind, name := range names {
		got, want := get(t, user, kind, name), get(t, client, kind, name)
		require.Equal(t, holders(want), holders(got), kind)
		require.Equal(t, want.Info.Value, got.Info.Value, kind)
		require.Equal(t, want.Info.Token, got.Info.Token, kind)
	}
}

func TestARefusedRegistryHidesNoHolder(t *testing.T) {
	srv := redistest.Real(t)
	client, name := srv.Client(t), srv.Key(t, "lock")
	require.NoError(t, client.HSet(t.Context(), name, java+":42", 1).Err())
	user := srv.User(t, "resetkeys", "~"+name, "%R~*"+name+"*")
	o, err := fleet.Get(t.Context(), user, redlatch.KindLock, name)
	require.NoError(t, err)
	require.Equal(t, []string{"Redisson client " + java + "  1"}, holders(o))
	require.Len(t, o.Unreadable, 1)
	require.Contains(t, o.Unreadable[0].Detail, "NOPERM")
}

func TestAServerThatIsGoneIsUnavailable(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
	srv.Kill()
	_, err := fleet.Get(t.Context(), client, redlatch.KindLock, "x")
	require.ErrorIs(t, err, redlatch.ErrUnavailable)
	_, err = fleet.Clients(t.Context(), client)
	require.ErrorIs(t, err, redlatch.ErrUnavailable)
}

func TestAPasswordThatIsWrongIsAnError(t *testing.T) {
	srv := redistest.Process(t)
	require.NoError(t, srv.Client(t).ConfigSet(t.Context(), "requirepass", "secret").Err())
	client := srv.Client(t)
	_, err := fleet.Clients(t.Context(), client)
	require.ErrorContains(t, err, "NOAUTH")
	client = srv.Client(t, func(o *redis.Options) { o.Password = "wrong" })
	_, err = fleet.Clients(t.Context(), client)
	require.ErrorContains(t, err, "WRONGPASS")
}

func TestLastSeenIsByTheClockOfTheServer(t *testing.T) {
	srv := redistest.Mini(t)
	client, name := srv.Client(t), "lock"
	srv.Mini.SetTime(time.Now().Add(-5 * time.Hour))
	enter(t, client, "", ours, 23*time.Second, webAbout)
	clients, err := fleet.Clients(t.Context(), client)
	require.NoError(t, err)
	require.Equal(t, 23*time.Second, clients[0].LastSeen.Truncate(time.Second))
	require.NoError(t, client.HSet(t.Context(), name, ours+":7", 1).Err())
	require.Equal(t, 23*time.Second, get(t, client, redlatch.KindLock, name).Holders[0].Client.LastSeen.Truncate(time.Second))
}
