package row_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

const (
	permits = "s"
	queue   = "redlatch_semaphore_row:{s}"
	public  = "redisson_sc:{s}"
)

var toQueue = scripts.Wake{Publish: "PUBLISH", Channel: public, Row: queue}

// A hall is a server with a semaphore, and processes that wait for it.
type hall struct {
	*testing.T
	srv    *redistest.Server
	client *redis.Client
	all    *redis.PubSub
	ears   []*redis.PubSub
	seq    int64
}

func inHall(t *testing.T, fn func(h *hall)) {
	for name, start := range map[string]func(testing.TB) *redistest.Server{
		"miniredis": redistest.Mini, "redis": redistest.Watched,
	} {
		t.Run(name, func(t *testing.T) {
			srv := start(t)
			h := &hall{T: t, srv: srv, client: srv.Client(t)}
			h.all = h.client.PSubscribe(t.Context(), "*") // a pattern is not counted among the subscribers of a channel
			t.Cleanup(func() { _ = h.all.Close() })
			_, err := h.all.ReceiveTimeout(t.Context(), 30*time.Second)
			require.NoError(t, err)
			fn(h)
		})
	}
}

// listens subscribes to channels, on a connection of its own.
func (h *hall) listens(channels ...string) {
	ps := h.client.Subscribe(h.Context(), channels...)
	h.Cleanup(func() { _ = ps.Close() })
	for range channels {
		_, err := ps.ReceiveTimeout(h.Context(), 30*time.Second)
		require.NoError(h, err)
	}
	h.ears = append(h.ears, ps)
}

// there has the processes of these sessions hear what they are told.
func (h *hall) there(sessions ...string) {
	for _, session := range sessions {
		h.listens(queue+":"+session, public, row.Known(queue))
	}
}

func (h *hall) call() lane.Call {
	h.seq++
	return lane.Call{Key: "redlatch_lanes:{s}:x", Lane: h.seq, Seq: 1}
}

func (h *hall) waits(client *redis.Client, id string, n int64) lane.Granted {
	h.Helper()
	candidate := row.Candidate{ID: id, Patience: patience}
	got, err := statetest.Send(h.Context(), client, semaphore.Wait(permits, n, 0, toQueue, candidate, h.call()))
	require.NoError(h, err)
	return got
}

// refused has candidates stand in the row, in this order, each for so many permits.
func (h *hall) refused(wants int64, ids ...string) {
	h.Helper()
	for _, id := range ids {
		require.False(h, h.waits(h.client, id, wants).Served)
		time.Sleep(2 * time.Millisecond) // places are whole milliseconds
	}
}

func (h *hall) release(n int64) {
	h.Helper()
	_, err := statetest.Send(h.Context(), h.client, semaphore.Release(permits, n, toQueue, h.call()))
	require.NoError(h, err)
}

// row is who stands there, with what each wants; those that were told first.
func (h *hall) row() (standing []string) {
	h.Helper()
	all, err := h.client.ZRangeWithScores(h.Context(), queue, 0, -1).Result()
	require.NoError(h, err)
	for _, z := range all {
		one := fmt.Sprint(z.Member, " ", int64(math.Abs(z.Score))%1024)
		if z.Score < 0 {
			one += " told"
		}
		standing = append(standing, one)
	}
	return standing
}

// heard is what was published since it was asked last: the channel without the names of the semaphore, and the message.
func (h *hall) heard() (messages []string) {
	h.Helper()
	require.NoError(h, h.client.Publish(h.Context(), "end", "").Err())
	for {
		got, err := h.all.ReceiveMessage(h.Context())
		require.NoError(h, err)
		if got.Channel == "end" {
			return messages
		}
		messages = append(messages, strings.TrimPrefix(got.Channel, queue+":")+" "+got.Payload)
	}
}

func TestTheKeysOfASemaphoreAreThoseOfTheLibrary(t *testing.T) {
	require.Equal(t, []string{queue, public}, []string{keys.SemaphoreRow(permits), keys.SemaphoreChannel(permits)})
	require.True(t, row.ForOthers("04"))
	for _, message := range []string{"4", "0", "", "-1", "10"} {
		require.False(t, row.ForOthers(message), message)
	}
}

func TestARaiseTellsTheFirstForWhomItIsEnough(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there(u, v, w)
		h.refused(5, a)
		h.refused(1, b, c)
		h.release(1)
		require.Equal(t, []string{v + " " + b}, h.heard(), "nobody else is told")
		require.Equal(t, []string{b + " 1 told", a + " 5", c + " 1"}, h.row())
	})
}

// Whoever is in the row and hears nothing asks a poll interval later; whoever else listens must not wait for that.
func TestARaiseThatNobodyWasToldOfIsForEverybody(t *testing.T) {
	inHall(t, func(h *hall) {
		h.release(2)
		require.Equal(t, []string{public + " 2"}, h.heard(), "nobody waits")
		require.NoError(t, h.client.Del(t.Context(), permits).Err())
		h.refused(1, a)
		h.release(1)
		require.Equal(t, []string{public + " 1"}, h.heard(), "the one who waits is gone")
		require.NoError(t, h.client.Del(t.Context(), permits).Err())
		h.there(u, v)
		h.refused(2, u+":1", u+":2", u+":3", u+":4", u+":5", u+":6", u+":7", u+":8")
		h.refused(1, v+":9")
		h.release(1)
		require.Equal(t, []string{public + " 1"}, h.heard(), "eight in front want more")
		require.Len(t, h.row(), 9)
	})
}

func TestWhoWasToldInVainKeepsItsPlace(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there(u, v)
		h.refused(1, a, b)
		h.release(1)
		require.Equal(t, []string{u + " " + a}, h.heard())
		require.NoError(t, h.client.Set(t.Context(), permits, 0, 0).Err()) // somebody else was faster
		require.False(t, h.waits(h.client, a, 1).Served)
		require.Equal(t, []string{a + " 1", b + " 1"}, h.row())
		require.False(t, h.waits(h.client, a, 3).Served, "a poll")
		require.Equal(t, []string{a + " 3", b + " 1"}, h.row(), "with what it wants now")
		h.release(2)
		require.Equal(t, []string{v + " " + b}, h.heard())
		require.True(t, h.waits(h.client, b, 1).Served)
		require.Equal(t, []string{a + " 3"}, h.row(), "it was served")
		require.False(t, h.waits(h.client, b, 2).Served)
		require.Equal(t, []string{a + " 3", b + " 2"}, h.row(), "another of its process waits, behind the others")
		require.True(t, h.waits(h.client, a, 1).Served)
		require.Equal(t, []string{b + " 2"}, h.row())
	})
}

func TestAnAcquisitionThatLeavesPermitsTellsTheNext(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there(u, v, w)
		h.refused(1, a, b, c)
		h.release(3)
		require.Equal(t, []string{u + " " + a}, h.heard())
		require.True(t, h.waits(h.client, a, 1).Served)
		require.Equal(t, []string{v + " " + b}, h.heard(), "two are left")
		require.False(t, h.waits(h.client, b, 3).Served)
		require.Equal(t, []string{w + " " + c}, h.heard(), "it wants more than that by now")
		require.True(t, h.waits(h.client, c, 2).Served)
		require.Empty(t, h.heard(), "none are left")
	})
}

// A place does not say how many permits are wanted where these are very many. So such processes are told in vain, each once.
func TestLargeRequestsThatAreToldInVainDoNotTellEachOther(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there(u, v, w)
		h.refused(1200, a, b)
		h.refused(1, c)
		h.release(1100)
		require.Equal(t, []string{u + " " + a}, h.heard())
		require.False(t, h.waits(h.client, a, 1200).Served)
		require.Equal(t, []string{v + " " + b}, h.heard())
		require.False(t, h.waits(h.client, b, 1200).Served)
		require.Equal(t, []string{w + " " + c}, h.heard())
		require.False(t, h.waits(h.client, c, 1101).Served)
		require.Empty(t, h.heard())
		require.False(t, h.waits(h.client, a, 1200).Served, "a poll")
		require.Equal(t, []string{v + " " + b}, h.heard(), "their message may have been lost")
		require.False(t, h.waits(h.client, b, 1200).Served)
		require.Equal(t, []string{w + " " + c}, h.heard())
		require.False(t, h.waits(h.client, c, 1101).Served)
		require.Empty(t, h.heard())
	})
}

// What a user may not do for the row costs speed: either a process is told or everybody is, and permits are neither lost
// nor made.
func TestWhatAUserMayNotDoForTheRowCostsNobodyThePermits(t *testing.T) {
	h := &hall{T: t, srv: redistest.Process(t)}
	h.client = h.srv.Client(t)
	h.all = h.client.PSubscribe(t.Context(), "*")
	t.Cleanup(func() { _ = h.all.Close() })
	_, err := h.all.ReceiveTimeout(t.Context(), 30*time.Second)
	require.NoError(t, err)
	h.there(u)
	for _, limits := range [][]string{
		{"-time"}, {"-zadd"}, {"-zscore"}, {"-zrem"}, {"-zrange"}, {"-pubsub"}, {"-pttl"}, {"-pexpire"},
		{"resetchannels", "&" + public},
		{"resetkeys", "~" + permits, "~redlatch_lanes*"},
	} {
		require.NoError(t, h.client.FlushAll(t.Context()).Err())
		h.refused(1, a)
		user := h.srv.User(t, limits...)
		if !slices.Contains(limits, "-pexpire") { // the lanes need that
			require.False(t, h.waits(user, b, 1).Served, "%v", limits)
			_, err := statetest.Send(t.Context(), user, semaphore.Release(permits, 1, toQueue, h.call()))
			require.NoError(t, err, "%v", limits)
			require.NotEmpty(t, h.heard(), "%v", limits)
			require.True(t, h.waits(user, a, 1).Served, "%v", limits)
		}
		require.NoError(t, user.Close())
	}
}

func (h *hall) keep(n int64) int64 {
	h.Helper()
	got, err := statetest.Send(h.Context(), h.client, semaphore.Keep(permits, n, w, toQueue, h.call()))
	require.NoError(h, err)
	return got
}

func TestPermitsAreKeptOnlyWhereNobodyElseWaits(t *testing.T) {
	mine, second := w+":1", w+":2"
	for name, c := range map[string]struct {
		prepare func(h *hall)
		want    int64
		row     []string
	}{
		"alone":                  {func(h *hall) { h.refused(1, mine, second) }, row.Kept, []string{mine + " 1", second + " 1"}},
		"nobody waits":           {func(*hall) {}, row.Kept, nil},
		"a process waits":        {func(h *hall) { h.refused(3, mine); h.refused(2, a) }, 0, []string{a + " 2 told", mine + " 3"}},
		"a process wants more":   {func(h *hall) { h.refused(3, mine); h.refused(7, a) }, 0, []string{mine + " 3 told", a + " 7"}},
		"a process is gone":      {func(h *hall) { h.refused(1, mine, b) }, row.Kept, []string{mine + " 1"}},
		"an outsider listens":    {func(h *hall) { h.listens(public) }, row.Outsiders, nil},
		"one listens and I wait": {func(h *hall) { h.refused(9, mine); h.listens(public) }, row.Outsiders, []string{mine + " 9"}},
	} {
		t.Run(name, func(t *testing.T) {
			inHall(t, func(h *hall) {
				h.there(u, w)
				require.NoError(h, h.client.Set(h.Context(), permits, 0, 0).Err())
				c.prepare(h)
				h.heard()
				require.Equal(h, c.want, h.keep(3))
				require.Equal(h, c.row, h.row())
				if c.want == row.Kept {
					require.Empty(h, h.heard())
					require.Equal(h, "0", h.client.Get(h.Context(), permits).Val())
				} else {
					require.NotEmpty(h, h.heard())
					require.Equal(h, "3", h.client.Get(h.Context(), permits).Val())
				}
			})
		})
	}
}
