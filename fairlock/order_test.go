package fairlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// patient bounds the wait for something that must come; a wait that runs out is a failure.
const patient = 30 * time.Second

func soon(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patient, time.Millisecond, what)
}

func queueOf(t *testing.T, client *redis.Client, name string) []string {
	t.Helper()
	queue, err := client.LRange(context.Background(), keys.FairQueue(name), 0, -1).Result()
	require.NoError(t, err)
	return queue
}

// queued waits until n entries stand in the queue.
func queued(t *testing.T, client *redis.Client, name string, n int) {
	t.Helper()
	soon(t, "entries in the queue", func() bool { return len(queueOf(t, client, name)) == n })
}

// nothingLeft tells that the queue, its deadlines and what we keep beside them are gone.
func nothingLeft(t *testing.T, client *redis.Client, name string) {
	t.Helper()
	soon(t, "nothing is left of the queue", func() bool {
		return client.Exists(context.Background(),
			keys.FairQueue(name), keys.FairTimeouts(name), keys.FairAlive(name)).Val() == 0
	})
}

// A roll notes who got the lock.
type roll struct {
	mu      sync.Mutex
	numbers []int
	active  int
}

func (r *roll) enter(t *testing.T, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active++
	if r.active != 1 {
		t.Errorf("%d are in the critical section", r.active)
	}
	r.numbers = append(r.numbers, n)
}

func (r *roll) exit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
}

func TestWaitersOfTwoClientsAreServedInTheOrderOfTheirArrival(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		name := srv.Key(t, "fair")
		one, two := srv.Client(t), srv.Client(t)
		locks := []*fairlock.Lock{fairlock.New(one, name), fairlock.New(two, name)}
		ctx := t.Context()

		hold, err := locks[0].Lock(ctx)
		require.NoError(t, err)
		var (
			r  roll
			wg sync.WaitGroup
		)
		const waiters = 20
		for n := range waiters {
			wg.Go(func() {
				err := locks[n%2].Do(ctx, func(context.Context) error {
					r.enter(t, n)
					defer r.exit()
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			queued(t, one, name, n+1)
		}
		require.NoError(t, hold.Unlock(ctx))
		wg.Wait()
		for n := range waiters {
			require.Equal(t, n, r.numbers[n], "order %v", r.numbers)
		}
		nothingLeft(t, one, name)
	})
}

// The server stands still while the calls begin, so that their order is known to nobody but their process.
func TestCallsOfOneProcessEnterInTheOrderInWhichTheyAreMade(t *testing.T) {
	srv := redistest.Process(t)
	name := srv.Key(t, "fair")
	client := srv.Client(t, func(o *redis.Options) { o.ReadTimeout = patient })
	lock := fairlock.New(client, name)
	ctx := t.Context()
	hold, err := lock.Lock(ctx)
	require.NoError(t, err)
	set := settings.Defaults()
	queue, part := session.Of(client, &set).Queue(cohort.KeyFor(name, "fair_lock"))
	defer part()

	var (
		r  roll
		wg sync.WaitGroup
	)
	const waiters = 100
	srv.Stop()
	for n := range waiters {
		wg.Go(func() {
			err := lock.Do(ctx, func(context.Context) error {
				r.enter(t, n)
				defer r.exit()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		soon(t, "the call has taken its place", func() bool { return queue.Len() == n+1 })
	}
	srv.Continue()
	queued(t, client, name, waiters)
	require.NoError(t, hold.Unlock(ctx))
	wg.Wait()
	for n := range waiters {
		require.Equal(t, n, r.numbers[n], "order %v", r.numbers)
	}
	nothingLeft(t, client, name)
}

func TestCancelledWaitersLeaveNothingBehindAndTheOthersKeepTheirOrder(t *testing.T) {
	srv := redistest.Real(t)
	name := srv.Key(t, "fair")
	clients := []*redis.Client{srv.Client(t), srv.Client(t), srv.Client(t)}
	ctx := t.Context()
	locks := make([]*fairlock.Lock, len(clients))
	for i, client := range clients {
		locks[i] = fairlock.New(client, name)
	}
	hold, err := locks[0].Lock(ctx)
	require.NoError(t, err)
	var (
		r  roll
		wg sync.WaitGroup
	)
	const waiters = 60
	cancels := make([]context.CancelFunc, waiters)
	got := make([]bool, waiters)
	for n := range waiters {
		own, cancel := context.WithCancel(ctx)
		cancels[n] = cancel
		defer cancel()
		wg.Go(func() {
			hold, err := locks[n%len(locks)].Lock(own)
			if err != nil {
				if !errors.Is(err, redlatch.ErrNotAcquired) {
					t.Error(err)
				}
				return
			}
			got[n] = true
			r.enter(t, n)
			time.Sleep(time.Millisecond)
			r.exit()
			if err := hold.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
		queued(t, clients[0], name, n+1)
	}
	// Half of them leave, before and while the lock goes round, the head among them.
	leaving := rand.Perm(waiters)[:waiters/2]
	for _, n := range leaving[:waiters/4] {
		cancels[n]()
	}
	require.NoError(t, hold.Unlock(ctx))
	for _, n := range leaving[waiters/4:] {
		cancels[n]()
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	}
	wg.Wait()
	require.IsIncreasing(t, r.numbers)
	left := map[int]bool{}
	for _, n := range leaving {
		left[n] = true
	}
	for n := range waiters {
		require.True(t, got[n] || left[n], "waiter %d, who did not leave, was not served", n)
	}
	nothingLeft(t, clients[0], name)
	free, err := locks[0].IsLocked(ctx)
	require.NoError(t, err)
	require.False(t, free)
}
