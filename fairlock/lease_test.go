package fairlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A keeper takes a lease that it does not give back, and notes when it was served.
type keeper struct {
	mu    sync.Mutex
	order []int
	times []time.Time
	kept  []*redlatch.Hold // a hold that is dropped is reported
}

func (k *keeper) wait(ctx context.Context, lock *fairlock.Lock, n int, opts ...redlatch.Option) error {
	hold, err := lock.Lock(ctx, opts...)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.order, k.times, k.kept = append(k.order, n), append(k.times, time.Now()), append(k.kept, hold)
	}
	return err
}

// slack is what a lease that ends without a message may cost: the server rounds it up to a millisecond.
const slack = 5 * time.Millisecond

// A fixed lease that nobody gives back ends without a message. Whoever is next knows when.
func TestLeasesThatNobodyGivesBackFollowOneAnotherWithoutAGap(t *testing.T) {
	const processes, lease = 8, time.Second
	for _, patience := range []time.Duration{redlatchDefaultPatience, time.Second} {
		t.Run(patience.String(), func(t *testing.T) {
			bubble(t, processes, func(w *world) {
				var (
					k  keeper
					wg sync.WaitGroup
				)
				for n := range processes {
					wg.Go(func() {
						err := k.wait(w.Context(), w.lock(n), n, redlatch.WithWait(10*time.Second), redlatch.WithLease(lease),
							fairlock.WithPatience(patience))
						if err != nil {
							t.Errorf("waiter %d: %v", n, err)
						}
					})
					time.Sleep(100 * time.Millisecond)
				}
				wg.Wait()
				for n := range processes {
					require.Equal(t, n, k.order[n])
					if n > 0 {
						gap := k.times[n].Sub(k.times[n-1]) - lease
						require.GreaterOrEqual(t, gap, time.Duration(0))
						require.LessOrEqual(t, gap, slack, "before waiter %d", n)
					}
				}
				synctest.Wait()
			})
		})
	}
}

// What the next one knew of the lease of the one before says nothing of the lease that follows.
func TestWhoBecomesTheNextLearnsOfTheLeaseThatItWaitsFor(t *testing.T) {
	const lease = 500 * time.Millisecond
	for name, become := range map[string]func(w *world, hold *redlatch.Hold, leave context.CancelFunc){
		"the one in front acquires": func(w *world, hold *redlatch.Hold, leave context.CancelFunc) {
			leave()
			synctest.Wait()
			require.NoError(w, hold.Unlock(w.Context()))
		},
		"the one in front leaves while another holds": func(w *world, hold *redlatch.Hold, leave context.CancelFunc) {
			require.NoError(w, hold.Unlock(w.Context()))
			time.Sleep(lease / 2)
			leave()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 4, func(w *world) {
				var k keeper
				hold, err := w.lock(0).Lock(w.Context())
				require.NoError(t, err)
				leaving, leave := context.WithCancel(w.Context())
				defer leave()
				done := make(chan error, 3)
				for n, ctx := range []context.Context{w.Context(), leaving, w.Context()} {
					go func() {
						err := k.wait(ctx, w.lock(n+1), n, redlatch.WithLease(lease), redlatch.WithPoll(time.Hour), fairlock.WithPatience(24*time.Hour))
						if ctx == leaving {
							require.ErrorIs(t, err, context.Canceled)
						} else {
							require.NoError(t, err)
						}
						done <- err
					}()
					synctest.Wait()
				}
				become(w, hold, leave)
				for range 3 {
					<-done
				}
				require.Equal(t, []int{0, 2}, k.order)
				require.LessOrEqual(t, k.times[1].Sub(k.times[0])-lease, slack)
			})
		})
	}
}

// On a real server: each of eight processes has its turn, though the last one's wait is not much longer than seven
// leases. The leases are as far apart as the server says, so a busy machine changes nothing but the last one's chances.
func TestEightProcessesWithFixedLeasesAreAllServed(t *testing.T) {
	srv := redistest.Real(t)
	name := srv.Key(t, "fair")
	const processes, lease = 8, 300 * time.Millisecond
	var (
		k  keeper
		wg sync.WaitGroup
	)
	clients := make([]*redis.Client, processes)
	for n := range processes {
		clients[n] = srv.Client(t)
	}
	for n := range processes {
		lock := fairlock.New(clients[n], name, redlatch.WithPoll(time.Hour), fairlock.WithPatience(24*time.Hour))
		wg.Go(func() {
			if err := k.wait(t.Context(), lock, n, redlatch.WithWait(patient), redlatch.WithLease(lease)); err != nil {
				t.Error(fmt.Errorf("waiter %d: %w", n, err))
			}
		})
		soon(t, "the waiter holds or stands in the queue", func() bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			return len(k.order)+len(queueOf(t, clients[0], name)) > n
		})
	}
	wg.Wait()
	require.IsIncreasing(t, k.order)
	nothingLeft(t, clients[0], name)
}
