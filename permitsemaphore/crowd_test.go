package permitsemaphore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

const crowd = 40 // processes that wait

// A release must not cost more, the more processes wait; and a raise by many wakes as many, one after the other.
func TestARaiseWakesNoMoreProcessesThanItIsEnoughFor(t *testing.T) {
	for name, atOnce := range map[string]int{"a release": 1, "many at once": crowd} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				key, client := srv.Key(t, "s"), srv.Client(t)
				giver := permitsemaphore.New(client, key)
				_, err := giver.TrySetPermits(t.Context(), crowd)
				require.NoError(t, err)
				ids := make([]*permitsemaphore.Permit, crowd/atOnce)
				for i := range ids {
					ids[i], err = giver.Acquire(t.Context(), int64(atOnce))
					require.NoError(t, err)
				}
				served := make(chan error, crowd)
				for range crowd {
					s := permitsemaphore.New(srv.Client(t), key, redlatch.WithPoll(long))
					go func() {
						_, err := s.Acquire(t.Context(), 1, permitsemaphore.WithoutExpiry())
						served <- err
					}()
				}
				eventually(t, "all stand in the row", func() bool {
					return client.ZCard(t.Context(), "redlatch_semaphore_row:{"+key+"}").Val() == crowd
				})
				before := srv.CommandStats(t)
				for _, permit := range ids {
					require.NoError(t, permit.Release(t.Context()))
					for range atOnce {
						require.NoError(t, <-served)
					}
				}
				after := srv.CommandStats(t)
				require.LessOrEqual(t, after["evalsha"]+after["eval"]-before["evalsha"]-before["eval"], int64(8*crowd), "scripts")
			})
		})
	}
}
