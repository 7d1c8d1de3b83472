package rwlock_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// Readers of ours, of an older version that knows no list, and of Redisson share a lock, commands are executed late, keys
// are deleted and leases end, in any order. No script of ours lets a writer in beside a reader that was promised to read,
// takes such a reader out, or makes the lock end before its promise.
func TestNoReaderIsHarmedInAnyOrder(t *testing.T) {
	for seed := range uint64(300) {
		m := newMix(t, seed)
		for range 60 {
			m.step()
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, strings.Join(m.story, "\n"))
			}
		}
	}
}

// A party is one reader, as those who gave it its promise know it.
type party struct {
	owner, kind string // kind: ours, old or java
	end         time.Time
	gone        bool
}

type mix struct {
	*testing.T
	rand    *rand.Rand
	server  *miniredis.Miniredis
	client  *redis.Client
	now     time.Time
	parties []*party
	story   []string
}

func newMix(t *testing.T, seed uint64) *mix {
	server := miniredis.NewMiniRedis()
	require.NoError(t, server.Start())
	m := &mix{T: t, rand: rand.New(rand.NewPCG(seed, 0)), server: server, now: time.UnixMilli(1_800_000_000_000)}
	m.client = redis.NewClient(&redis.Options{Addr: server.Addr(), DisableIdentity: true})
	server.SetTime(m.now)
	t.Cleanup(func() { _ = m.client.Close(); server.Close() })
	return m
}

func (m *mix) step() {
	m.pass(time.Duration(3+m.rand.IntN(50)) * time.Millisecond)
	ttl := []time.Duration{short, lease, long}[m.rand.IntN(3)]
	act := m.rand.IntN(14)
	if len(m.parties) == 0 {
		act %= 4
	}
	var p *party
	if act > 3 {
		p = m.parties[m.rand.IntN(len(m.parties))]
	}
	switch act {
	case 0, 1, 2, 3: // a new reader
		p = &party{owner: fmt.Sprintf("%s:%d", u, len(m.parties)), end: m.now.Add(ttl), kind: []string{"ours", "ours", "old", "java"}[act]}
		if p.kind == "java" {
			p.owner = strings.Replace(p.owner, "-869a-", "-469a-", 1)
		}
		m.join(p, ttl)
	case 4, 5, 6:
		m.leave(p)
	case 7, 8:
		m.renew(p)
	case 9:
		m.write()
	case 10:
		if p.kind == "ours" { // executed late, perhaps after its release
			m.ours("late join of "+p.owner, nil, func() {
				reads := m.server.HGet(key, p.owner) != ""
				if run(m, rwlock.AcquireRead(key, p.owner, ttl, "")).Held && !reads {
					p.gone, p.end = false, m.now.Add(ttl)
				}
			})
		}
	case 11:
		name := []string{key, list, record}[m.rand.IntN(3)]
		m.others("deletion of "+name, func() { m.server.Del(name) })
	case 12, 13:
		m.others("time", func() { m.pass(time.Duration(m.rand.IntN(20000)) * time.Millisecond) })
	}
}

func run[R any](m *mix, command scripts.Command[R]) R {
	m.Helper()
	reply, err := Send(m.Context(), m.client, command)
	require.NoError(m, err)
	return reply
}

func (m *mix) pass(d time.Duration) {
	m.now = m.now.Add(d)
	m.server.SetTime(m.now)
	m.server.FastForward(d)
}

// ends is when the lock is over.
func (m *mix) ends() time.Time { return m.now.Add(m.server.TTL(key)) }

// ours is a script of ours, which must harm nobody but those who leave by it.
func (m *mix) ours(what string, leaves *party, do func()) {
	m.Helper()
	before := m.ends()
	do()
	m.story = append(m.story, fmt.Sprintf("%s  %s", m.now.Format("05.000"), what))
	for _, p := range m.parties {
		if p == leaves || p.gone || p.end.Sub(m.now) < 5*time.Millisecond {
			continue
		}
		kept := before
		if p.end.Before(kept) {
			kept = p.end
		}
		if m.server.HGet(key, p.owner) == "" {
			m.Errorf("%s: %s %s was promised %v and is taken out", what, p.kind, p.owner, p.end.Sub(m.now))
		} else if m.ends().Before(kept.Add(-5 * time.Millisecond)) {
			m.Errorf("%s: %s %s was promised %v, and the lock lasts %v", what, p.kind, p.owner, p.end.Sub(m.now), m.ends().Sub(m.now))
		}
	}
	m.lapse()
}

// others is what we cannot help: whoever loses the lock by it has no promise any more.
func (m *mix) others(what string, do func()) {
	do()
	m.story = append(m.story, fmt.Sprintf("%s  %s", m.now.Format("05.000"), what))
	m.lapse()
}

// lapse is called after everything: whose field is gone, or whose time is over, was promised nothing.
func (m *mix) lapse() {
	for _, p := range m.parties {
		p.gone = p.gone || m.server.HGet(key, p.owner) == "" || !p.end.After(m.now)
	}
}

func marker(p *party) string { return keys.ReadMarker(keys.Tag(key), p.owner, 1) }

func (m *mix) join(p *party, ttl time.Duration) {
	what := "join of " + p.kind + " " + p.owner + " for " + ttl.String()
	if p.kind == "ours" {
		m.ours(what, p, func() {
			if run(m, rwlock.AcquireRead(key, p.owner, ttl, "")).Held {
				m.parties = append(m.parties, p)
			}
		})
		return
	}
	m.others(what, func() {
		switch m.server.HGet(key, "mode") {
		case "":
			m.server.HSet(key, "mode", "read")
		case "write":
			return
		}
		m.server.HSet(key, p.owner, "1")
		require.NoError(m, m.server.Set(marker(p), "1"))
		m.server.SetTTL(marker(p), ttl)
		m.server.SetTTL(key, max(m.server.TTL(key), ttl))
		m.parties = append(m.parties, p)
	})
}

func (m *mix) leave(p *party) {
	what := "leave of " + p.kind + " " + p.owner
	if p.kind == "ours" {
		m.ours(what, p, func() { run(m, rwlock.ReleaseRead(key, p.owner, 1, wake)) })
		p.gone = true
		return
	}
	m.others(what, func() {
		if m.server.HGet(key, p.owner) == "" {
			return
		}
		m.server.HDel(key, p.owner)
		m.server.Del(marker(p))
		var longest time.Duration
		fields, err := m.server.HKeys(key)
		require.NoError(m, err)
		for _, owner := range fields {
			longest = max(longest, m.server.TTL(marker(&party{owner: owner})))
		}
		if longest > 0 {
			m.server.SetTTL(key, longest)
		} else {
			m.server.Del(key)
		}
	})
}

func (m *mix) renew(p *party) {
	what := "renewal of " + p.kind + " " + p.owner
	if p.kind == "ours" {
		m.ours(what, nil, func() {
			alive := run(m, renewRead([]rwlock.Renewal{{Key: key, Owner: p.owner, Most: 1, Lease: lease}}))[0]
			if alive && m.now.Add(lease).After(p.end) {
				p.end = m.now.Add(lease)
			}
			p.gone = p.gone && !alive
		})
		return
	}
	m.others(what, func() {
		if m.server.HGet(key, p.owner) == "" {
			return
		}
		// Redisson 3.44 to 3.52 may renew the hash alone. While there is a marker, no unlock of theirs or ours minds that.
		if p.kind == "old" || m.server.Exists(marker(p)) || m.rand.IntN(2) == 0 {
			require.NoError(m, m.server.Set(marker(p), "1"))
			m.server.SetTTL(marker(p), max(m.server.TTL(marker(p)), lease))
		}
		ttl := lease
		if p.kind == "old" {
			ttl = max(ttl, m.server.TTL(key))
		}
		m.server.SetTTL(key, ttl)
		p.end, p.gone = m.now.Add(lease), false
	})
}

func (m *mix) write() {
	m.ours("try to write", nil, func() {
		if run(m, rwlock.AcquireWrite(key, bw, short, quiet)).Held && m.rand.IntN(2) == 0 {
			run(m, rwlock.ReleaseWrite(key, bw, wake))
		}
	})
}
