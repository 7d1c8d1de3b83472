package fairqueue_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	patience = 15 * time.Second
	poll     = 3 * time.Second
)

// A server is the queue in Redis as far as these tests need one, and what it was asked.
type server struct {
	mu    sync.Mutex
	order []string
	asked []string // "who task: others"
}

// A caller is one waiter with its goroutine.
type caller struct {
	*fairqueue.Waiter
	server *server
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

// enter makes an entry and runs the waiter: it asks when it is told to, and stays until it is cancelled or is next and
// the lock is free, which free tells.
func enter(t *testing.T, q *fairqueue.Queue, s *server, name string, confirmed <-chan struct{}, free func() bool) *caller {
	c := &caller{server: s, done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() { c.cancel(); <-c.done })
	s.set(append(s.get(), name)...)
	c.Waiter = q.Enter(name, patience, poll)
	go func() {
		defer close(c.done)
		for {
			plan, err := c.Next(c.ctx, &confirmed)
			task, others := plan.Task, plan.Others
			if err != nil {
				c.Leave()
				return
			}
			asked := time.Now()
			places, place := s.answer(name, task, others, free())
			if place == served {
				c.Serve(time.Now().Add(poll), nil)
				return
			}
			c.Answer(task, asked, 1, false, poll, place, others, places)
		}
	}()
	return c
}

const served = -2

// answer does what the script does, and notes that it was asked.
func (s *server) answer(name string, task fairqueue.Task, others []*fairqueue.Waiter, free bool) (places []int, place int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := name + " " + map[fairqueue.Task]string{fairqueue.Alone: "alone", fairqueue.All: "all", fairqueue.Again: "again"}[task]
	for _, other := range others {
		text += " " + other.Owner
		places = append(places, slices.Index(s.order, other.Owner))
	}
	s.asked = append(s.asked, text)
	place = slices.Index(s.order, name)
	switch {
	case free && place == 0:
		s.order = s.order[1:]
		return nil, served
	case place < 0:
		place = len(s.order)
		s.order = append(s.order, name)
	}
	return places, place
}

func (s *server) set(order ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = order
}

func (s *server) get() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.order)
}

// taken empties the list of what was asked.
func (s *server) taken() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func never() bool { return false }

func up() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestOnlyTheFrontAsksAndItConfirmsTheOthersOncePerPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		for i := range 3 {
			enter(t, q, s, fmt.Sprint("w", i), nil, never)
		}
		require.Empty(t, s.taken())
		time.Sleep(10*poll + time.Second)
		asked := s.taken()
		require.Len(t, asked, 10)
		for _, text := range asked {
			require.Equal(t, "w0 all w1 w2", text)
		}
	})
}

func TestEntriesAreConfirmedEachThirdOfThePatienceHoweverLongThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fairqueue.Queue{}
		w := q.Enter("w", patience, time.Hour)
		defer w.Leave()
		start := time.Now()
		plan, err := w.Next(t.Context(), new(<-chan struct{}))
		require.NoError(t, err)
		require.Equal(t, fairqueue.All, plan.Task)
		require.Equal(t, patience/3, time.Since(start))

		w.Answer(plan.Task, time.Now(), 1, false, time.Hour, 0, nil, nil)
		short := q.Enter("short", patience/5, time.Hour)
		defer short.Leave()
		plan, err = w.Next(t.Context(), new(<-chan struct{}))
		require.NoError(t, err)
		require.Equal(t, patience/3+patience/15, time.Since(start))
		require.Equal(t, []*fairqueue.Waiter{short}, plan.Others)
	})
}

// Messages make the front ask for itself, and must not keep it from confirming the others in time.
func TestMessagesDoNotPutOffTheConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		front := enter(t, q, s, "w0", nil, never)
		enter(t, q, s, "w1", nil, never)
		for range 70 {
			time.Sleep(100 * time.Millisecond)
			q.Wake(front.Owner)
			synctest.Wait()
		}
		require.Contains(t, s.taken(), "w0 all w1")
	})
}

func TestTheFrontAsksWhenItsMessageComesAndWhenMessagesBeginToArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		confirmed := make(chan struct{})
		front := enter(t, q, s, "w0", confirmed, never)
		second := enter(t, q, s, "w1", up(), never)
		require.Empty(t, s.taken(), "that messages arrive is no reason to ask for who is not the front")
		close(confirmed)
		require.Equal(t, []string{"w0 alone"}, s.taken())
		q.Wake(front.Owner)
		require.Equal(t, []string{"w0 alone"}, s.taken())
		q.Wake(second.Owner)
		require.Equal(t, []string{"w0 all w1"}, s.taken(), "it may be the second's turn")
	})
}

func TestTheNextFrontDoesNotAskWithoutReasonWhenTheFrontIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		var free atomic.Bool
		front := enter(t, q, s, "w0", up(), free.Load)
		enter(t, q, s, "w1", up(), never)
		s.taken()
		free.Store(true)
		q.Wake(front.Owner)
		require.Equal(t, []string{"w0 alone"}, s.taken())
		<-front.done
		require.Empty(t, s.taken())
		time.Sleep(poll)
		require.Equal(t, []string{"w1 all"}, s.taken())
	})
}

func TestAMessageThatTheFrontHasNotAnsweredGoesToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		front := q.Enter("w0", patience, poll)
		enter(t, q, s, "w1", nil, never)
		q.Wake(front.Owner)
		front.Leave()
		require.Equal(t, []string{"w1 alone"}, s.taken())
	})
}

// Another entry of ours is in front: the process's front had lost its place.
func TestWhoeverIsFirstOfOursInRedisBecomesTheFrontAndAsksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		enter(t, q, s, "w0", nil, never)
		enter(t, q, s, "w1", nil, never)
		enter(t, q, s, "w2", nil, never)
		synctest.Wait()
		s.set("w1", "w2") // w0 was removed
		time.Sleep(poll)
		require.Equal(t, []string{"w0 all w1 w2", "w1 alone"}, s.taken())
		require.Equal(t, []string{"w1", "w2", "w0"}, s.get())
		time.Sleep(poll)
		require.Equal(t, []string{"w1 all w2 w0"}, s.taken())
	})
}

func TestWaitersWhoseEntriesAreGoneMakeNewOnesInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		var names []string
		for i := range 6 {
			names = append(names, fmt.Sprint("w", i))
			enter(t, q, s, names[i], nil, never)
		}
		synctest.Wait()
		s.set("stranger") // the process was suspended
		time.Sleep(poll)
		require.Equal(t, []string{"w0 all w1 w2 w3 w4 w5", "w1 again", "w2 again", "w3 again", "w4 again", "w5 again"}, s.taken())
		require.Equal(t, append([]string{"stranger"}, names...), s.get())
	})
}

// One of those whose entries are gone leaves: the others must not wait for it.
func TestALackingWaiterWhoLeavesLetsTheNextOneMakeItsEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fairqueue.Queue{}
		front, first, second := q.Enter("w0", patience, poll), q.Enter("w1", patience, poll), q.Enter("w2", patience, poll)
		defer front.Leave()
		defer second.Leave()
		plan, err := front.Next(t.Context(), new(<-chan struct{}))
		require.NoError(t, err)
		front.Answer(plan.Task, time.Now(), 1, false, poll, 0, plan.Others, []int{-1, -1})

		told := make(chan fairqueue.Task)
		go func() {
			plan, _ := second.Next(context.Background(), new(<-chan struct{}))
			told <- plan.Task
		}()
		synctest.Wait()
		select {
		case <-told:
			t.Fatal("the second does not wait for the first")
		default:
		}
		first.Leave()
		require.Equal(t, fairqueue.Again, <-told)
		second.Answer(fairqueue.Again, time.Now(), 1, false, poll, 1, nil, nil)
	})
}

func TestACancelledWaiterIsToldSoBeforeAnythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fairqueue.Queue{}
		w := q.Enter("w", patience, 0)
		defer w.Leave()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := w.Next(ctx, new(<-chan struct{}))
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestAWaiterThatIsCancelledWhileItRestsIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fairqueue.Queue{}
		w := q.Enter("w", patience, time.Hour)
		defer w.Leave()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.Next(ctx, new(<-chan struct{}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestWhoIsToldOfALeaseAsksWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		front := enter(t, q, s, "w0", up(), never)
		second := enter(t, q, s, "w1", up(), never)
		s.taken()
		q.Told(front.Owner, time.Second)
		require.Empty(t, s.taken(), "there is nothing to ask for yet")
		time.Sleep(time.Second)
		require.Equal(t, []string{"w0 all w1"}, s.taken())

		q.Told(second.Owner, time.Second) // its entry is the first in Redis after all
		time.Sleep(time.Second)
		require.Equal(t, []string{"w0 all w1"}, s.taken())

		q.Told(front.Owner, time.Hour) // longer than what is known, and it is what is true
		time.Sleep(patience/3 - time.Second)
		require.Empty(t, s.taken())
		time.Sleep(time.Second)
		require.Equal(t, []string{"w0 all w1"}, s.taken(), "entries are confirmed all the same")
		q.Told(second.Owner, time.Hour)
		time.Sleep(poll)
		require.Equal(t, []string{"w0 all w1"}, s.taken())
	})
}

// The answer was written before the message, and comes after it.
func TestAnAnswerThatIsUnderWayDoesNotPutOffWhatAMessageTold(t *testing.T) {
	for _, task := range []fairqueue.Task{fairqueue.Alone, fairqueue.All, fairqueue.Again} {
		synctest.Test(t, func(t *testing.T) {
			q := &fairqueue.Queue{}
			w := q.Enter("w", patience, poll)
			defer w.Leave()
			asked := time.Now()
			q.Told(w.Owner, time.Second)
			w.Answer(task, asked, 1, false, poll, 0, nil, nil)
			start := time.Now()
			_, err := w.Next(t.Context(), new(<-chan struct{}))
			require.NoError(t, err)
			require.Equal(t, time.Second, time.Since(start))

			w.Answer(task, time.Now(), 1, false, poll, 0, nil, nil) // this one is newer
			_, err = w.Next(t.Context(), new(<-chan struct{}))
			require.NoError(t, err)
			require.Equal(t, time.Second+poll, time.Since(start))
		})
	}
}

func TestWhoHasLeftIsToldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, s := &fairqueue.Queue{}, &server{}
		gone := q.Enter("gone", patience, poll)
		enter(t, q, s, "w", up(), never)
		gone.Leave()
		s.taken()
		q.Told(gone.Owner, time.Millisecond)
		time.Sleep(poll / 2)
		require.Empty(t, s.taken())
	})
}
