package rwlock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

const queue = "redlatch_rwlock_row:{rw}"

var toQueue = scripts.Wake{Publish: "PUBLISH", Channel: channel, Row: queue}

// A hall is a server with a read-write lock, and processes that wait for it.
type hall struct {
	*testing.T
	client *redis.Client
	all    *redis.PubSub
	places int64 // given so far
	ears   map[string]*redis.PubSub
}

func inHall(t *testing.T, fn func(h *hall)) {
	for name, start := range map[string]func(testing.TB) *redistest.Server{"miniredis": redistest.Mini, "redis": redistest.Watched} {
		t.Run(name, func(t *testing.T) {
			srv := start(t)
			h := &hall{T: t, client: srv.Client(t), ears: map[string]*redis.PubSub{}}
			h.all = h.client.PSubscribe(t.Context(), "*") // a pattern is not counted among the subscribers of a channel
			t.Cleanup(func() { _ = h.all.Close() })
			_, err := h.all.ReceiveTimeout(t.Context(), 30*time.Second)
			require.NoError(t, err)
			fn(h)
		})
	}
}

func (h *hall) listens(who string, channels ...string) {
	ps := h.client.Subscribe(h.Context(), channels...)
	h.Cleanup(func() { _ = ps.Close() })
	for range channels {
		_, err := ps.ReceiveTimeout(h.Context(), 30*time.Second)
		require.NoError(h, err)
	}
	h.ears[who] = ps
}

// there has processes hear what they are told. One whose name begins with w writes, others read.
func (h *hall) there(who ...string) {
	for _, p := range who {
		h.listens(p, queue+":"+p, channel, row.Known(queue))
	}
}

// gone is the end of one who listens.
func (h *hall) gone(who string) {
	h.Helper()
	listeners := func() int64 { return h.client.PubSubNumSub(h.Context(), channel).Val()[channel] }
	before := listeners()
	require.NoError(h, h.ears[who].Close())
	require.Eventually(h, func() bool { return listeners() < before }, 30*time.Second, time.Millisecond)
}

func (h *hall) candidate(who string) rwlock.Candidate {
	return rwlock.Candidate{ID: who + ":1", Patience: time.Minute, Writes: who[0] == 'w'}
}

func does[R any](h *hall, client *redis.Client, command scripts.Command[R]) R {
	h.Helper()
	reply, err := Send(h.Context(), client, command)
	require.NoError(h, err)
	return reply
}

// asks is the question of the head of a process, and tells whether it holds then.
func (h *hall) asks(client *redis.Client, who string) bool {
	h.Helper()
	c := h.candidate(who)
	if c.Writes {
		return does(h, client, rwlock.StandWrite(key, c.ID+rwlock.WriteSuffix, lease, quiet, toQueue, c)).Held
	}
	return does(h, client, rwlock.StandRead(key, c.ID, lease, toQueue, c)).Held
}

// refused has processes ask in vain. Those that stand in the queue by that have places one behind the other, whatever the clock shows.
func (h *hall) refused(who ...string) {
	h.Helper()
	for _, p := range who {
		c := h.candidate(p)
		came := h.client.ZScore(h.Context(), queue, c.ID).Err() != nil
		require.False(h, h.asks(h.client, p), p)
		if score, err := h.client.ZScore(h.Context(), queue, c.ID).Result(); came && err == nil {
			h.places++
			score = float64(1024*h.places + int64(score)%1024)
			require.NoError(h, h.client.ZAdd(h.Context(), queue, redis.Z{Score: score, Member: c.ID}).Err())
		}
	}
}

// leaves is the release of a process, after which a call of its own waits, of the candidate behind; none is empty.
func (h *hall) leaves(who, behind string) row.Release {
	h.Helper()
	var c rwlock.Candidate
	if behind != "" {
		c = h.candidate(behind)
	}
	return h.releases(h.client, who, c, rwlock.Successor{})
}

// keeps is leaves for a process that has a waiter which is to write.
func (h *hall) keeps(who, next, behind string) row.Release {
	h.Helper()
	return h.releases(h.client, who, h.candidate(behind), rwlock.Successor{Field: next + rwlock.WriteSuffix, Lease: lease})
}

func (h *hall) releases(client *redis.Client, who string, c rwlock.Candidate, next rwlock.Successor) row.Release {
	h.Helper()
	if who[0] == 'w' {
		return does(h, client, rwlock.HandOnWrite(key, who+":1"+rwlock.WriteSuffix, toQueue, c, next))
	}
	return does(h, client, rwlock.HandOnRead(key, who+":1", 1, toQueue, c, next, false))
}

// standing are the processes in the queue; a star is behind those that were told.
func (h *hall) standing() (all []string) {
	h.Helper()
	found, err := h.client.ZRangeWithScores(h.Context(), queue, 0, -1).Result()
	require.NoError(h, err)
	for _, z := range found {
		who, _, _ := strings.Cut(z.Member.(string), ":")
		if z.Score < 0 {
			who += "*"
		}
		all = append(all, who)
	}
	return all
}

// told are those that were told and have not asked.
func (h *hall) told() (all []string) {
	h.Helper()
	for _, p := range h.standing() {
		if who, told := strings.CutSuffix(p, "*"); told {
			all = append(all, who)
		}
	}
	slices.Sort(all)
	return all
}

// heard is what was published since it was asked last: to whom, or on the wake channel what.
func (h *hall) heard() (messages []string) {
	h.Helper()
	require.NoError(h, h.client.Publish(h.Context(), "end", "").Err())
	for {
		got, err := h.all.ReceiveMessage(h.Context())
		require.NoError(h, err)
		switch who, told := strings.CutPrefix(got.Channel, queue+":"); {
		case got.Channel == "end":
			return messages
		case told:
			m, ok := row.Read(got.Payload)
			require.True(h, ok && m.Looks && strings.HasPrefix(m.Owner, who+":"), got.Payload)
			messages = append(messages, who)
		default:
			messages = append(messages, got.Payload)
		}
	}
}
