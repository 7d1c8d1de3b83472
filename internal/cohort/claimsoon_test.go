package cohort_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

// An asking is a waiter whose attempt takes a second, and is then answered so.
type asking struct {
	*testing.T
	queue *cohort.Queue
	asked int
	ended chan error
}

func beginAsking(t *testing.T, ctx context.Context, answer cohort.Verdict) *asking {
	a := &asking{T: t, queue: cohort.NewQueue(nil), ended: make(chan error, 1)}
	answer.Sleep = 1000 * time.Hour
	go func() {
		a.ended <- a.queue.WaitFor(ctx, 0, &cohort.Request{Who: "waiter"}, func(ctx context.Context) (cohort.Verdict, error) {
			a.asked++
			select {
			case <-time.After(time.Second):
				return answer, nil
			case <-ctx.Done():
				return cohort.Verdict{}, ctx.Err()
			}
		})
	}()
	synctest.Wait()
	_, ok := a.queue.Claim()
	require.False(t, ok, "its attempt is under way")
	return a
}

func TestAClaimWaitsForTheEndOfAnAttemptAndComesBeforeTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := beginAsking(t, t.Context(), cohort.Verdict{})
		a.queue.Wake() // it would ask again at once
		claim, ok := a.queue.ClaimSoon(time.Hour)
		require.True(t, ok)
		require.True(t, claim.Give("thing", time.Hour))
		require.NoError(t, <-a.ended)
		require.Equal(t, 1, a.asked)
		a.queue.Stop()
	})
}

func TestAWaiterWhoseAttemptHasServedItCannotBeClaimed(t *testing.T) {
	for what, answer := range map[string]cohort.Verdict{"it alone": {Done: true}, "all": {Done: true, All: true}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := beginAsking(t, t.Context(), answer)
				began := time.Now()
				_, ok := a.queue.ClaimSoon(time.Hour)
				require.False(t, ok)
				require.Equal(t, time.Second, time.Since(began))
				require.NoError(t, <-a.ended)
			})
		})
	}
}

func TestAClaimDoesNotWaitWithoutAnAttemptUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		queue, ended := cohort.NewQueue(nil), make(chan error, 2)
		_, ok := queue.ClaimSoon(time.Hour)
		require.False(t, ok, "nobody waits")
		ctx, cancel := context.WithCancel(t.Context())
		asks := func(context.Context) (cohort.Verdict, error) { return cohort.Verdict{Sleep: 1000 * time.Hour}, nil }
		go func() { ended <- queue.WaitFor(ctx, 0, nil, asks) }()
		synctest.Wait()
		_, ok = queue.ClaimSoon(time.Hour)
		require.False(t, ok, "it cannot be given anything")
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		go func() { ended <- queue.WaitFor(t.Context(), 0, &cohort.Request{}, asks) }()
		synctest.Wait()
		claim, ok := queue.ClaimSoon(time.Hour)
		require.True(t, ok, "it sleeps")
		require.True(t, claim.Give("thing", time.Hour))
		require.NoError(t, <-ended)
		require.Zero(t, time.Since(began))
		queue.Stop()
	})
}

func TestAClaimThatWaitsComesToTheNextWaiterWhenTheFirstIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		queue, ended := cohort.NewQueue(nil), make(chan error, 2)
		for range 2 {
			go func() {
				ended <- queue.WaitFor(t.Context(), 0, &cohort.Request{Expected: true, Poll: time.Hour}, nil)
			}()
			synctest.Wait()
		}
		first, ok := queue.Claim()
		require.True(t, ok)
		second := make(chan bool, 1)
		go func() {
			claim, ok := queue.ClaimSoon(time.Minute)
			second <- ok && claim.Give("another", time.Hour)
		}()
		synctest.Wait()
		require.True(t, first.Give("thing", time.Hour))
		require.True(t, <-second)
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		require.Zero(t, time.Since(began))
		queue.Stop()
	})
}

func TestAClaimDoesNotWaitForAWaiterThatHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := beginAsking(t, ctx, cohort.Verdict{})
		time.AfterFunc(time.Millisecond, cancel)
		began := time.Now()
		_, ok := a.queue.ClaimSoon(time.Hour)
		require.False(t, ok)
		require.Equal(t, time.Millisecond, time.Since(began))
		require.ErrorIs(t, <-a.ended, context.Canceled)
	})
}

func TestAClaimWaitsNoLongerThanItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := beginAsking(t, t.Context(), cohort.Verdict{})
		began := time.Now()
		_, ok := a.queue.ClaimSoon(time.Millisecond)
		require.False(t, ok)
		require.Equal(t, time.Millisecond, time.Since(began))
		time.Sleep(2 * time.Second)
		claim, ok := a.queue.Claim() // the claimer that gave up has not got it
		require.True(t, ok)
		require.True(t, claim.Give("thing", time.Hour))
		require.NoError(t, <-a.ended)
		a.queue.Stop()
	})
}

func TestClaimsThatWaitAreAnsweredInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := beginAsking(t, t.Context(), cohort.Verdict{})
		first, second := make(chan bool), make(chan bool)
		go func() {
			claim, ok := a.queue.ClaimSoon(time.Hour)
			require.True(t, ok)
			time.Sleep(time.Minute)
			claim.Refuse()
			first <- true
		}()
		synctest.Wait()
		go func() {
			claim, ok := a.queue.ClaimSoon(time.Hour)
			require.True(t, ok)
			second <- claim.Give("thing", time.Hour)
		}()
		require.True(t, <-first)
		require.True(t, <-second)
		require.NoError(t, <-a.ended)
		require.Equal(t, 1, a.asked)
		a.queue.Stop()
	})
}

// The waiter answers at the moment at which the claimer's patience ends. The claimer has to take the claim then: nobody else would end it.
func TestAClaimThatComesAtTheEndOfThePatienceIsNotLost(t *testing.T) {
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			a := beginAsking(t, t.Context(), cohort.Verdict{})
			claim, ok := a.queue.ClaimSoon(time.Second)
			synctest.Wait()
			if !ok {
				claim, ok = a.queue.Claim()
			}
			require.True(t, ok)
			require.True(t, claim.Give("thing", time.Hour))
			require.NoError(t, <-a.ended)
			a.queue.Stop()
		})
	}
}
