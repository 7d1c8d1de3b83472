package fleet_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

// An entry, the word of a request and the request itself are in two slots, and on most nodes of a cluster a client meets only one of them.
func TestHoldersOnAClusterAreAskedEachAlone(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	servers := redistest.Cluster(t, 3, 0)
	asking := servers.Client(t)
	type locks func(c redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker
	lock := func(c redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return rlock.New(c, name, opts...)
	}
	fair := func(c redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return fairlock.New(c, name, opts...)
	}
	reads := func(c redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return rwlock.New(c, name, opts...).Reader()
	}
	writes := func(c redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return rwlock.New(c, name, opts...).Writer()
	}
	type holding struct {
		asked
		kind   redlatch.Kind
		name   string
		hold   *redlatch.Hold
		answer fleet.Answer // what Ask has to answer; empty: the test asks nobody for this hold
	}
	var all []*holding
	for _, h := range []struct {
		kind   redlatch.Kind
		name   string
		make   locks
		answer fleet.Answer
	}{
		{redlatch.KindLock, "a", lock, fleet.GivenUp},
		{redlatch.KindLock, "b", lock, fleet.HeldOn},
		{redlatch.KindFairLock, "c", fair, fleet.GivenUp},
		{redlatch.KindFairLock, "d", fair, fleet.HeldOn},
		{redlatch.KindReadWriteLock, "e", writes, fleet.GivenUp},
		{redlatch.KindReadWriteLock, "{f}", reads, fleet.GivenUp},
		{redlatch.KindReadWriteLock, "{f}", reads, ""},
		{redlatch.KindReadWriteLock, "g", reads, fleet.HeldOn},
	} {
		one := &holding{kind: h.kind, name: h.name, answer: h.answer}
		hold, err := h.make(servers.Client(t), h.name, one.options()...).Lock(t.Context())
		require.NoError(t, err)
		one.hold = hold
		unlockLater(t, hold)
		all = append(all, one)
	}
	var pool asked
	permits := permitsemaphore.New(servers.Client(t), "s", pool.options()...)
	_, err := permits.TrySetPermits(t.Context(), 2)
	require.NoError(t, err)
	permit, err := permits.Acquire(t.Context(), 1)
	require.NoError(t, err)

	for _, h := range all {
		listed(t, asking, h.hold.Owner())
	}
	redistest.Eventually(t, "the permit has a client", func() bool {
		return get(t, asking, redlatch.KindPermitSemaphore, "s").Holders[0].Client != nil
	})
	var asks sync.WaitGroup
	ask := func(kind redlatch.Kind, name, owner string, heard <-chan redlatch.Event, want fleet.Answer, giveUp func(context.Context) error) {
		wait := 7 * time.Second
		if want == fleet.GivenUp {
			wait = time.Minute
			asks.Go(func() {
				<-heard
				_ = giveUp(context.Background())
			})
		}
		asks.Go(func() {
			answer, err := fleet.AskOwner(t.Context(), asking, kind, name, owner, stuck, wait)
			if err != nil || answer != want {
				t.Errorf("%s: %q, %v", name, answer, err)
			}
		})
	}
	for _, h := range all {
		if h.answer != "" {
			ask(h.kind, h.name, h.hold.Owner(), h.heard, h.answer, h.hold.Unlock)
		}
	}
	ask(redlatch.KindPermitSemaphore, "s", permit.IDs()[0], pool.heard, fleet.GivenUp, permit.Release)
	asks.Wait()

	for _, h := range all {
		require.Equal(t, h.answer != fleet.GivenUp, h.hold.Valid(), "%s %q", h.kind, h.name)
		if h.answer == "" {
			require.Empty(t, h.heard, "the other reader was asked")
		}
	}
	require.Empty(t, keysOf(t, servers, "redlatch_client_asked*"), "a request is taken back")
	require.Empty(t, keysOf(t, servers, "redlatch_forced*"))
}

// keysOf are the keys of all masters that match a pattern.
func keysOf(t *testing.T, servers *redistest.ClusterServers, pattern string) (keys []string) {
	t.Helper()
	var mu sync.Mutex
	err := servers.Client(t).ForEachMaster(t.Context(), func(ctx context.Context, master *redis.Client) error {
		found, err := master.Keys(ctx, pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, found...)
		return err
	})
	require.NoError(t, err)
	return keys
}
