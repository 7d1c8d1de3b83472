package rwlock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestTheKeyOfTheQueueIsThatOfTheLibrary(t *testing.T) {
	require.Equal(t, queue, keys.ReadWriteRow(key))
	require.True(t, row.ForOthers("01"))
	require.False(t, row.ForOthers("1"))
}

// Two that write and two that read come in any order while another writes, or reads. Each is served in its turn, those that read and
// stand one behind the other at once, and nobody asks in vain: as long as the lock can be had, one is told.
func TestThoseThatWaitAreServedInTheirOrderWhateverItIs(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "r0", "w1", "w2", "r1", "r2")
		for _, first := range []string{"w0", "r0"} {
			for order := range orders([]string{"w1", "w2", "r1", "r2"}) {
				require.NoError(h, h.client.FlushDB(h.Context()).Err())
				require.True(h, h.asks(h.client, first))
				holders := []string{first}
				var groups [][]string
				for _, p := range order {
					if first == "r0" && p[0] == 'r' {
						require.True(h, h.asks(h.client, p))
						holders = append(holders, p)
						continue
					}
					h.refused(p)
					last := len(groups) - 1
					if last >= 0 && p[0] == 'r' && groups[last][0][0] == 'r' {
						groups[last] = append(groups[last], p)
					} else {
						groups = append(groups, []string{p})
					}
				}
				for _, group := range groups {
					for _, p := range holders {
						require.Empty(h, h.told(), "%v", order)
						h.leaves(p, "")
					}
					slices.Sort(group)
					require.Equal(h, group, h.told(), "%s, then %v", first, order)
					for _, p := range group {
						require.True(h, h.asks(h.client, p), "%s, then %v: %s", first, order, p)
					}
					holders = group
				}
				for _, p := range holders {
					h.leaves(p, "")
				}
				require.Empty(h, h.client.Keys(h.Context(), "*").Val())
			}
		}
	})
}

// orders are all orders of some.
func orders(of []string) func(func([]string) bool) {
	var next func(yield func([]string) bool, done, left []string) bool
	next = func(yield func([]string) bool, done, left []string) bool {
		if len(left) == 0 {
			return yield(done)
		}
		for i, one := range left {
			rest := append(slices.Clone(left[:i]), left[i+1:]...)
			if !next(yield, append(slices.Clone(done), one), rest) {
				return false
			}
		}
		return true
	}
	return func(yield func([]string) bool) { next(yield, nil, of) }
}

func TestAProcessThatIsGoneIsNotTold(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "w1", "w2", "r1", "r2")
		require.True(h, h.asks(h.client, "w0"))
		h.refused("r1", "w1", "w2", "r2")
		h.gone("r1")
		h.gone("w1")
		h.leaves("w0", "")
		require.Equal(h, []string{"w2*", "r2"}, h.standing())
		require.True(h, h.asks(h.client, "w2"))
		h.gone("r2")
		h.heard()
		h.leaves("w2", "")
		require.Empty(h, h.standing())
		require.Equal(h, []string{"1"}, h.heard(), "the message for all")
	})
}

func TestOneThatWasToldAndLeavesHasTheNextTold(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "w1", "w2", "r1")
		require.True(h, h.asks(h.client, "w0"))
		h.refused("w1", "w2", "r1")
		h.leaves("w0", "")
		require.Equal(h, []string{"w1"}, h.told())
		require.False(h, h.leaves("w1", "").Freed, "its candidate holds nothing")
		require.Equal(h, []string{"w2*", "r1"}, h.standing())
		h.leaves("w2", "")
		require.Equal(h, []string{"r1"}, h.told())
		h.leaves("r1", "")
		require.Empty(h, h.standing())
	})
}

// One that wants to write keeps out those behind it while others read. When it leaves they come in.
func TestOneThatWantedToWriteAndLeavesLetsThoseBehindItRead(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "r0", "w1", "r1")
		require.True(h, h.asks(h.client, "w0"))
		h.refused("w1", "r1")
		require.True(h, does(h, h.client, rwlock.TurnRead(key, "w0:1:write", toQueue, 1, "w0:2", lease)).Held)
		require.Empty(h, h.told())
		h.leaves("w1", "")
		require.Equal(h, []string{"r1"}, h.told())
	})
}

func TestOneThatWasToldInVainKeepsItsPlace(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "w1", "w2", "r1")
		require.True(h, h.asks(h.client, "w0"))
		h.refused("r1", "w1", "w2")
		h.leaves("w0", "")
		require.True(h, does(h, h.client, rwlock.AcquireWrite(key, bw, lease, quiet)).Held, "an outsider is faster")
		h.refused("r1")
		require.Equal(h, []string{"r1", "w1", "w2"}, h.standing())
		does(h, h.client, rwlock.ReleaseWrite(key, bw, toQueue))
		require.Equal(h, []string{"r1"}, h.told())
	})
}

func TestOthersThatListenHearOfEachRelease(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "w1", "r1", "r2")
		require.True(h, h.asks(h.client, "w0"))
		h.refused("r1", "w1")
		h.heard()
		h.leaves("w0", "")
		require.Equal(h, []string{"r1"}, h.heard(), "nobody else listens")
		require.True(h, h.asks(h.client, "r1"))
		h.listens("java", channel)
		h.leaves("r1", "")
		require.Equal(h, []string{"w1", "00"}, h.heard())
		require.True(h, h.asks(h.client, "w1"))
		h.refused("r2")
		h.leaves("w1", "")
		require.Equal(h, []string{"r2", "01"}, h.heard())
		require.True(h, h.asks(h.client, "r2"))
		h.leaves("r2", "")
		require.Equal(h, []string{"0"}, h.heard(), "nobody stands in the queue")
	})
}

func TestReadersAreNotToldWhileAWriterIsAnnounced(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "w1", "r1", "r2")
		require.True(h, h.asks(h.client, "w0"))
		h.refused("r1")
		c := h.candidate("w1")
		require.False(h, does(h, h.client, rwlock.StandWrite(key, c.ID+":write", lease, loud, toQueue, c)).Held)
		h.refused("r2")
		h.leaves("w0", "")
		require.Equal(h, []string{"w1"}, h.told())
		h.leaves("w1", "")
		require.Equal(h, []string{"r1", "r2"}, h.standing())
		require.True(h, does(h, h.client, rwlock.Withdraw(key, u, toQueue)))
		require.Equal(h, []string{"r1", "r2"}, h.told())
	})
}

// The process of a holder that leaves stands behind the others. Where those only read, as it does itself, it is told with them.
func TestTheProcessOfAHolderGoesBehindTheOthers(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "w1", "r0", "r1")
		require.True(h, h.asks(h.client, "w0"))
		require.Equal(h, row.Release{Freed: true}, h.leaves("w0", "w0"), "nobody else waits")
		require.Empty(h, h.standing())

		require.True(h, h.asks(h.client, "w0"))
		h.refused("w1")
		require.Equal(h, row.Release{Freed: true, Told: true}, h.leaves("w0", "w0"))
		require.Equal(h, []string{"w1*", "w0"}, h.standing())
		require.True(h, h.asks(h.client, "w1"))
		require.Equal(h, row.Release{Freed: true, Told: true}, h.leaves("w1", "w1"))
		require.Equal(h, []string{"w0*", "w1"}, h.standing())
		require.True(h, h.asks(h.client, "w0"))
		h.leaves("w1", "") // its candidate

		h.refused("r1")
		require.True(h, h.leaves("w0", "r0").Told)
		require.Equal(h, []string{"r0", "r1"}, h.told())
		require.True(h, h.asks(h.client, "r0"))
		require.True(h, h.asks(h.client, "r1"))
		require.Equal(h, row.Release{Freed: true}, h.leaves("r0", "r0"), "it can read on at once")
		require.True(h, h.asks(h.client, "r0"))
		h.refused("w1")
		require.True(h, h.leaves("r0", "r0").Told)
		require.Equal(h, []string{"w1", "r0"}, h.standing())
		h.leaves("r1", "")
		require.Equal(h, []string{"w1"}, h.told())
	})
}

// A user who may not do what only the queue needs has a lock without one.
func TestWhatAUserMayNotDoForTheQueueCostsNobodyTheLock(t *testing.T) {
	srv := redistest.Watched(t)
	h := &hall{T: t, client: srv.Client(t), ears: map[string]*redis.PubSub{}}
	h.all = h.client.PSubscribe(t.Context(), "*")
	t.Cleanup(func() { _ = h.all.Close() })
	_, err := h.all.ReceiveTimeout(t.Context(), 30*time.Second)
	require.NoError(t, err)
	h.there("w0", "w1", "r1")
	needed := []string{"resetkeys", "~rw", "~{rw}*", "~" + list, "~" + record, "~" + writers}
	for _, limits := range [][]string{{"-pubsub"}, {"resetchannels", "&" + channel}, needed} {
		client := srv.User(t, limits...)
		for _, who := range []string{"w0", "r1"} {
			require.NoError(t, h.client.FlushDB(t.Context()).Err())
			require.True(t, h.asks(client, who))
			h.refused("w1")
			h.heard()
			require.True(t, h.releases(client, who, h.candidate(who), rwlock.Successor{}).Freed, "%v", limits)
			require.Equal(t, []string{map[string]string{"w0": "1", "r1": "0"}[who]}, h.heard(), "%v: the message for all", limits)
			require.True(t, h.asks(client, who), fmt.Sprint(limits))
			require.True(t, h.releases(client, who, rwlock.Candidate{}, rwlock.Successor{}).Freed)
		}
	}
}
