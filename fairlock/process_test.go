package fairlock_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func numbers(t *testing.T, client *redis.Client, key string) (all []int) {
	t.Helper()
	texts, err := client.LRange(t.Context(), key, 0, -1).Result()
	require.NoError(t, err)
	for _, text := range texts {
		number, err := strconv.Atoi(text)
		require.NoError(t, err)
		all = append(all, number)
	}
	return all
}

// Two hundred waiters of four processes. One process is killed while its waiter is next, with forty-nine others in the
// queue; forty waiters of the others leave. Everybody else is served in the order of arrival.
func TestTwoHundredWaitersOfFourProcessesAreServedInTheOrderOfTheirArrival(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	const (
		name      = "fair"
		waiters   = 200
		processes = 4
		leaving   = 40
	)
	lock := fairlock.New(client, name, fairlock.WithPatience(childPatience))
	hold, err := lock.Lock(t.Context())
	require.NoError(t, err)
	children := make([]*child, processes)
	for i := range children {
		children[i] = startChild(t, srv.Addr, name)
	}
	for n := range waiters {
		children[n%processes].tell(t, "lock", n)
		queued(t, client, name, n+1)
	}

	gone := map[int]bool{}
	children[0].kill()
	for n := 0; n < waiters; n += processes {
		gone[n] = true
	}
	cancelled := 0
	for _, n := range rand.Perm(waiters) {
		if !gone[n] && cancelled < leaving/2 {
			gone[n] = true
			cancelled++
			children[n%processes].tell(t, "cancel", n)
		}
	}
	soon(t, "half of those who leave have left", func() bool { return len(numbers(t, client, name+":left")) == leaving/2 })
	require.NoError(t, hold.Unlock(t.Context()))
	for _, n := range rand.Perm(waiters) { // some of them while the lock goes round, so some of them are served before
		if !gone[n] && cancelled < leaving {
			gone[n] = true
			cancelled++
			children[n%processes].tell(t, "cancel", n)
		}
	}
	alive := waiters - waiters/processes
	soon(t, "everybody who lives is served or has left", func() bool {
		return len(numbers(t, client, name+":served"))+len(numbers(t, client, name+":left")) == alive
	})
	served := numbers(t, client, name+":served")
	require.IsIncreasing(t, served)
	got := map[int]bool{}
	for _, n := range served {
		require.NotZero(t, n%processes, "a killed process was served")
		got[n] = true
	}
	for n := range waiters {
		require.True(t, got[n] || gone[n], "waiter %d was not served", n)
	}
	require.Empty(t, client.LRange(t.Context(), name+":wrong", 0, -1).Val())
	nothingLeft(t, client, name)
}

// The process of whoever is next dies while the lock is free: the others wait for its patience, once for all its
// entries, and not longer.
func TestTheDeadAreWaitedForOnceHoweverManyTheyWere(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	const name, dead = "fair", 30
	lock := fairlock.New(client, name, fairlock.WithPatience(childPatience))
	hold, err := lock.Lock(t.Context())
	require.NoError(t, err)
	victim, survivor := startChild(t, srv.Addr, name), startChild(t, srv.Addr, name)
	for n := range dead {
		victim.tell(t, "lock", n)
		queued(t, client, name, n+1)
	}
	survivor.tell(t, "lock", dead)
	queued(t, client, name, dead+1)
	victim.kill()
	require.NoError(t, hold.Unlock(t.Context()))
	free := time.Now()
	soon(t, "the survivor is served", func() bool { return len(numbers(t, client, name+":served")) == 1 })
	require.Less(t, time.Since(free), dead*childPatience/2, "each of the dead was waited for")
	nothingLeft(t, client, name)
}

// A process that holds is killed: the lock is free when its lease is over, without a message.
func TestAKilledHolderIsFollowedByTheNextInTheQueue(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	const name = "fair"
	lock := fairlock.New(client, name, fairlock.WithPatience(childPatience))
	holder := startChild(t, srv.Addr, name)
	holder.tell(t, "hold", 1)
	soon(t, "the child holds", func() bool { locked, err := lock.IsLocked(t.Context()); return err == nil && locked })
	holder.kill()
	hold, err := lock.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
}
