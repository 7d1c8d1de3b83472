package row_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/multilock"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

// A teller is a kind whose waiting processes are told to ask: what it is to one owner, under which its process also stands in the queue.
type teller struct {
	name string
	wake scripts.Wake
	asks func(b *bell, owner string) bool // it holds then, or its process stands in the queue
	ends func(b *bell, owner string)      // its hold, or its wait
}

var tellers = []teller{
	{"semaphore", scripts.Wake{Publish: "PUBLISH", Channel: "c", Row: "q:{s}"},
		func(b *bell, owner string) bool {
			return does(b, semaphore.Wait("s", 1, 0, b.of.wake, row.Candidate{ID: owner, Patience: patience}, b.call())).Served
		},
		func(b *bell, owner string) {
			if b.holder != owner {
				does(b, row.Leave("s", b.of.wake, owner))
				return
			}
			does(b, semaphore.Release("s", 1, b.of.wake, b.call()))
		}},
	{"read-write lock", scripts.Wake{Publish: "PUBLISH", Channel: "c", Row: "q:{s}"},
		func(b *bell, owner string) bool {
			return does(b, rwlock.StandWrite("s", owner+rwlock.WriteSuffix, time.Minute, rwlock.Announcement{}, b.of.wake,
				rwlock.CandidateOf(owner+rwlock.WriteSuffix, patience))).Held
		},
		func(b *bell, owner string) {
			does(b, rwlock.HandOnWrite("s", owner+rwlock.WriteSuffix, b.of.wake, rwlock.Candidate{}, rwlock.Successor{}))
		}},
	{"group", scripts.Wake{Publish: "PUBLISH", Channel: "c", Row: "q:{s}"},
		func(b *bell, owner string) bool {
			return does(b, multilock.Enlist("s", owner, []string{"v", "w"}, time.Minute, []string{"q:{s}"}, patience)).Held
		},
		func(b *bell, owner string) {
			does(b, multilock.Release("s", owner, []string{"v", "w"}, b.of.wake, []string{"q:{s}"}))
		}},
}

// A bell is a server with one thing of a kind, and the processes that wait for it.
type bell struct {
	*testing.T
	of     teller
	client *redis.Client
	all    *redis.PubSub
	holder string
	seq    int64
}

func eachTeller(t *testing.T, fn func(b *bell)) {
	for _, of := range tellers {
		for name, start := range map[string]func(testing.TB) *redistest.Server{"miniredis": redistest.Mini, "redis": redistest.Watched} {
			t.Run(of.name+" "+name, func(t *testing.T) {
				b := &bell{T: t, of: of, client: start(t).Client(t)}
				b.all = b.client.PSubscribe(t.Context(), "*") // a pattern is not counted among the subscribers of a channel
				t.Cleanup(func() { _ = b.all.Close() })
				_, err := b.all.ReceiveTimeout(t.Context(), 30*time.Second)
				require.NoError(t, err)
				if of.name == "semaphore" {
					does(b, semaphore.Release("s", 1, of.wake, b.call()))
					b.heard()
				}
				fn(b)
			})
		}
	}
}

func does[R any](b *bell, command scripts.Command[R]) R {
	b.Helper()
	got, err := statetest.Send(b.Context(), b.client, command)
	require.NoError(b, err)
	return got
}

func (b *bell) call() lane.Call {
	b.seq++
	return lane.Call{Key: "lanes:{s}", Lane: b.seq, Seq: 1}
}

// listen subscribes to channels, on a connection of its own.
func (b *bell) listen(channels ...string) {
	ps := b.client.Subscribe(b.Context(), channels...)
	b.Cleanup(func() { _ = ps.Close() })
	for range channels {
		_, err := ps.ReceiveTimeout(b.Context(), 30*time.Second)
		require.NoError(b, err)
	}
}

// there has the processes of these sessions hear what they are told.
func (b *bell) there(sessions ...string) {
	for _, session := range sessions {
		b.listen(b.of.wake.Row+":"+session, b.of.wake.Channel, row.Known(b.of.wake.Row))
	}
}

func (b *bell) takes(owner string) {
	b.Helper()
	require.True(b, b.of.asks(b, owner), owner)
	b.holder = owner
}

func (b *bell) refused(owners ...string) {
	b.Helper()
	for _, owner := range owners {
		require.False(b, b.of.asks(b, owner), owner)
		time.Sleep(2 * time.Millisecond) // places are whole milliseconds
	}
}

func (b *bell) ends(owner string) {
	b.Helper()
	b.of.ends(b, owner)
	b.holder = ""
}

// queue is who stands there; those that were told have a star, and come last.
func (b *bell) queue() (standing []string) {
	b.Helper()
	all, err := b.client.ZRangeWithScores(b.Context(), b.of.wake.Row, 0, -1).Result()
	require.NoError(b, err)
	var told []string
	for _, z := range all {
		if z.Score < 0 {
			told = append(told, z.Member.(string)+"*")
		} else {
			standing = append(standing, z.Member.(string))
		}
	}
	return append(standing, told...)
}

// heard is what was published since it was asked last: what a process was told, or "all" for the message on the wake channel.
func (b *bell) heard() (messages []string) {
	b.Helper()
	require.NoError(b, b.client.Publish(b.Context(), "end", "").Err())
	for {
		got, err := b.all.ReceiveMessage(b.Context())
		require.NoError(b, err)
		switch {
		case got.Channel == "end":
			return messages
		case got.Channel == b.of.wake.Channel:
			messages = append(messages, "all")
			continue
		}
		m, ok := row.Read(got.Payload)
		require.True(b, ok && m.Looks, got.Payload)
		require.True(b, strings.HasPrefix(m.Owner, strings.TrimPrefix(got.Channel, b.of.wake.Row+":")+":"), got)
		messages = append(messages, m.Owner)
	}
}

func TestTheFirstProcessThatIsThereIsToldAndKeepsItsPlace(t *testing.T) {
	eachTeller(t, func(b *bell) {
		b.there("x", "y", "z")
		b.takes("x:0")
		b.refused("gone:1", "y:1", "z:1")
		require.Equal(b, []string{"gone:1", "y:1", "z:1"}, b.queue())
		b.refused("y:1")
		require.Equal(b, []string{"gone:1", "y:1", "z:1"}, b.queue(), "asking again keeps the place")
		b.heard()
		b.ends("x:0")
		require.Equal(b, []string{"y:1"}, b.heard(), "no more listen than are known")
		require.Equal(b, []string{"z:1", "y:1*"}, b.queue(), "one whose process is gone leaves")

		b.takes("x:0") // it is faster
		b.refused("y:1")
		require.Equal(b, []string{"y:1", "z:1"}, b.queue())
		b.heard()
		b.ends("x:0")
		require.Equal(b, []string{"y:1"}, b.heard())
		b.takes("y:1")
		require.Equal(b, []string{"z:1"}, b.queue())

		b.listen(b.of.wake.Channel) // one of Redisson's, or of an earlier version
		b.heard()
		b.ends("y:1")
		require.Equal(b, []string{"z:1", "all"}, b.heard())
		b.takes("z:1")
		b.ends("z:1")
		require.Equal(b, []string{"all"}, b.heard(), "none stands in the queue")
	})
}

func TestOneThatWasToldAndWaitsNoMoreHasTheNextTold(t *testing.T) {
	eachTeller(t, func(b *bell) {
		b.there("x", "y", "z", "u")
		b.takes("x:0")
		b.refused("y:1", "z:1", "u:1")
		b.ends("x:0")
		b.heard()
		b.ends("y:1")
		require.Equal(b, []string{"z:1"}, b.heard())
		require.Equal(b, []string{"u:1", "z:1*"}, b.queue())
		b.takes("z:1")
		b.heard()
		b.ends("u:1")
		require.Empty(b, b.queue())
		require.Empty(b, b.heard(), "it was not told")
	})
}

// What a process leaves behind that died after it was told would stay for as long as others use the queue.
func TestTheQueueLastsAsLongAsItsProcessesAreKnownToBeThere(t *testing.T) {
	eachTeller(t, func(b *bell) {
		now := b.client.Time(b.Context()).Val().UnixMilli()
		told := func(who string, ago time.Duration) redis.Z {
			return redis.Z{Member: who, Score: -float64((now-ago.Milliseconds())*1024 + 1)}
		}
		require.NoError(b, b.client.ZAdd(b.Context(), b.of.wake.Row, told("old:1", 11*time.Minute), told("new:1", 9*time.Minute)).Err())
		b.takes("x:0")
		b.refused("y:1")
		require.Equal(b, []string{"y:1", "new:1*"}, b.queue())
		ttl := func() time.Duration { return b.client.PTTL(b.Context(), b.of.wake.Row).Val() }
		require.InDelta(b, patience, ttl(), float64(30*time.Second))
		require.NoError(b, b.client.PExpire(b.Context(), b.of.wake.Row, patience/2).Err())
		b.refused("z:1")
		require.Greater(b, ttl(), patience/2)
		require.NoError(b, b.client.PExpire(b.Context(), b.of.wake.Row, 2*patience).Err())
		b.refused("u:1")
		require.Greater(b, ttl(), patience, "another process has more patience")
	})
}
