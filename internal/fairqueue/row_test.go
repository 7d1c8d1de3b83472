package fairqueue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/fairqueue"
)

// stands are waiters with entries, in their order, of which the first holds and has the others as its row.
func stands(t *testing.T, names ...string) (*fairqueue.Queue, []*fairqueue.Waiter) {
	q := &fairqueue.Queue{}
	var all []*fairqueue.Waiter
	for _, name := range names {
		all = append(all, q.Enter(name, patience, poll))
	}
	all[0].Serve(time.Now().Add(poll), names[1:])
	return q, all
}

func grant(t *testing.T, w *fairqueue.Waiter) any {
	plan, err := w.Next(t.Context(), new(<-chan struct{}))
	require.NoError(t, err)
	require.Equal(t, fairqueue.Served, plan.Task)
	return plan.Grant
}

func TestARowIsGivenInItsOrderAndThoseWhoHaveLeftAreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, all := stands(t, "a", "b", "c", "d")
		given, carry := all[2].Leave()
		require.Nil(t, given)
		require.NotNil(t, carry)
		require.Nil(t, q.Heir("x"), "another owner holds nothing")
		for _, n := range []int{1, 3} {
			heir := q.Heir("a")
			require.Same(t, all[n], heir)
			require.True(t, q.Give("a", heir, n, time.Now()))
			require.Equal(t, n, grant(t, heir))
		}
		require.Nil(t, q.Heir("a"))
		require.Equal(t, []string{"b", "d"}, q.Load(fairqueue.Most).Finished)
	})
}

// Another of the process has got the lock, so the one before has lost it.
func TestAnOwnerThatIsNoHolderAnyMoreGivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, all := stands(t, "a", "b", "c")
		heir := q.Heir("a")
		require.NotNil(t, heir)
		all[1].Serve(time.Now(), []string{"c"})
		require.False(t, q.Give("a", heir, 1, time.Now()))
		require.Nil(t, q.Heir("a"))
		q.Stop("a")
		require.Same(t, all[2], q.Heir("b"), "the row is that of the holder")
	})
}

func TestAWaiterThatAsksIsNotGivenTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, all := stands(t, "a", "b", "c")
		q.Wake("b")
		plan, err := all[1].Next(t.Context(), new(<-chan struct{}))
		require.NoError(t, err)
		require.Equal(t, fairqueue.Alone, plan.Task)
		require.Nil(t, q.Heir("a"), "nor anybody behind it")
		all[1].Answer(plan.Task, time.Now(), 7, false, poll, 1, nil, nil)
		require.Same(t, all[1], q.Heir("a"))
	})
}

// The owner was made to hold, and was refused later: it does not hold any more. Which came first is not known within a
// millisecond.
func TestAMessageIsBelievedOnlyIfTheOwnerWasNotRefusedSince(t *testing.T) {
	for at, want := range map[int64]fairqueue.Task{6: fairqueue.Alone, 7: fairqueue.Alone, 8: fairqueue.Handed} {
		synctest.Test(t, func(t *testing.T) {
			q := &fairqueue.Queue{}
			w := q.Enter("a", patience, poll)
			q.Wake("a")
			plan, err := w.Next(t.Context(), new(<-chan struct{}))
			require.NoError(t, err)
			require.Empty(t, q.Hand(&fairqueue.HandedTo{Row: []string{"a"}, At: at})) // before the answer is there
			w.Answer(plan.Task, time.Now(), 7, false, poll, 1, nil, nil)
			plan, err = w.Next(t.Context(), new(<-chan struct{}))
			require.NoError(t, err)
			require.Equal(t, want, plan.Task)
		})
	}
}

func TestWhatIsFinishedWithIsGivenUpIfTheLockComesToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, all := stands(t, "a", "b", "c")
		require.True(t, q.Give("a", all[1], 1, time.Now()))
		require.Equal(t, "b", q.Hand(&fairqueue.HandedTo{Row: []string{"b", "c"}}))
		require.Equal(t, "b", q.Wake("b"))
		require.Empty(t, q.Wake("c"))
		require.Empty(t, q.Wake("stranger"))
		require.False(t, q.Idle())
		require.Equal(t, []string{"b"}, q.Over())
		require.True(t, q.Idle())
	})
}

func TestAMessageOfAForceUnlockMakesOldNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fairqueue.Queue{}
		news := time.Now()
		require.True(t, q.Current(news))
		q.Void()
		require.False(t, q.Current(news))
		time.Sleep(time.Millisecond)
		require.True(t, q.Current(time.Now()))
	})
}

func TestCallsOfABusyProcessShareACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fairqueue.Queue{}
		come := func(name string, held bool) *fairqueue.Waiter {
			w, _ := q.Come(name, patience, nil, held)
			return w
		}
		first := come("a", false)
		start := time.Now()
		plan, err := first.Next(t.Context(), new(<-chan struct{}))
		require.NoError(t, err)
		require.Equal(t, fairqueue.Enter, plan.Task)
		require.Zero(t, time.Since(start), "nobody of its process waits or holds")

		second, third := come("b", false), come("c", false)
		require.Empty(t, q.Load(fairqueue.Most).Arrivals, "one command at a time makes entries")
		q.Carried(plan.Carry, fairqueue.Done, time.Now(), 1, poll)
		plan, err = second.Next(t.Context(), new(<-chan struct{}))
		require.NoError(t, err)
		require.Equal(t, 2*time.Millisecond, time.Since(start))
		require.Equal(t, []*fairqueue.Waiter{second, third}, plan.Carry.Arrivals)

		q.Carried(plan.Carry, fairqueue.Undone, time.Now(), 0, poll)
		fourth := come("d", false)
		second.Leave()
		carry := q.Load(fairqueue.Most)
		require.Equal(t, []*fairqueue.Waiter{third, fourth}, carry.Arrivals, "in the order of their calls, whatever became of the first command")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = third.Next(ctx, new(<-chan struct{}))
		require.ErrorIs(t, err, context.Canceled)
		given, under := third.Leave()
		require.Nil(t, given)
		require.Same(t, carry, under)
		q.Carried(carry, fairqueue.Unknown, time.Now(), 0, poll)
		<-under.Done
		require.True(t, under.Doubt)
	})
}

// With WithPoll(time.Hour) the question is hours old perhaps, and the clocks of the two have moved apart since.
func TestAnOldQuestionDatesNoMessage(t *testing.T) {
	for age, known := range map[time.Duration]bool{9 * time.Second: true, 11 * time.Second: false, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			q := &fairqueue.Queue{}
			w := q.Enter("a", patience, poll)
			q.Wake("a")
			plan, err := w.Next(t.Context(), new(<-chan struct{}))
			require.NoError(t, err)
			asked := time.Now()
			w.Answer(plan.Task, asked, 1000, false, poll, 1, nil, nil)
			time.Sleep(age)
			since := q.Since(&fairqueue.HandedTo{Row: []string{"a"}, At: 1000 + age.Milliseconds()})
			if known {
				require.Equal(t, asked.Add(age-time.Millisecond), since)
			} else {
				require.Zero(t, since)
			}
		})
	}
}
