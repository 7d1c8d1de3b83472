package cohort_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

// A party is a queue whose head has an attempt under way, with other waiters behind it.
type party struct {
	*testing.T
	queue *cohort.Queue
	end   chan cohort.Verdict // of the attempt, the only one
	over  chan error          // what the head's wait returned
}

func inParty(t *testing.T, test func(p *party)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &party{t, cohort.NewQueue(nil), make(chan cohort.Verdict), make(chan error, 1)}
		go func() {
			p.over <- p.queue.WaitFor(t.Context(), time.Hour, &cohort.Request{Who: "head"}, func(context.Context) (cohort.Verdict, error) {
				return <-p.end, nil
			})
		}()
		synctest.Wait()
		test(p)
	})
}

// A guest is a waiter behind the head.
type guest struct {
	offer cohort.Request
	asked bool // it became the head, and asked
	err   error
	gone  chan struct{}
	leave context.CancelFunc
}

func (p *party) joins(who string) *guest {
	ctx, leave := context.WithCancel(p.Context())
	g := &guest{offer: cohort.Request{Who: who}, gone: make(chan struct{}), leave: leave}
	p.Cleanup(leave)
	go func() {
		defer close(g.gone)
		g.err = p.queue.WaitFor(ctx, time.Hour, &g.offer, func(context.Context) (cohort.Verdict, error) {
			g.asked = true
			return cohort.Verdict{Done: true}, nil
		})
	}()
	synctest.Wait()
	return g
}

func (p *party) ends(v cohort.Verdict) {
	p.end <- v
	require.NoError(p, <-p.over)
	synctest.Wait()
}

func names(b cohort.Batch) (all []any) {
	for i := range b {
		all = append(all, b.Who(i))
	}
	return all
}

func gifts(i int) any { return []string{"first", "second", "third"}[i] }

func TestABatchIsTheWaitersBehindTheHeadInTheOrderOfTheirArrival(t *testing.T) {
	inParty(t, func(p *party) {
		require.Empty(p, p.queue.Behind(5), "the head is alone")
		guests := []*guest{p.joins("a"), p.joins("b"), p.joins("c")}
		require.Equal(p, []any{"a", "b", "c"}, names(p.queue.Behind(5)))
		require.Equal(p, []any{"a", "b"}, names(p.queue.Behind(2)))
		guests[1].leave()
		synctest.Wait()
		require.Equal(p, []any{"a", "c"}, names(p.queue.Behind(2)))
		ctx, leave := context.WithCancel(p.Context())
		go func() { _ = p.queue.Wait(ctx, time.Hour, nil) }() // it cannot be given anything
		synctest.Wait()
		guests = append(guests, p.joins("d"))
		require.Equal(p, []any{"a", "c"}, names(p.queue.Behind(5)))
		leave()
		for _, g := range guests {
			g.leave()
		}
		synctest.Wait()
		p.ends(cohort.Verdict{Done: true})
	})
}

func TestServedWaitersHaveTheirGrantsAndTheNextIsTheHead(t *testing.T) {
	inParty(t, func(p *party) {
		a, b, c := p.joins("a"), p.joins("b"), p.joins("c")
		batch := p.queue.Behind(3)
		require.Empty(p, p.queue.Serve(batch, 2, gifts))
		<-a.gone
		<-b.gone
		require.Equal(p, []any{"first", "second"}, []any{a.offer.Grant, b.offer.Grant})
		require.NoError(p, errors.Join(a.err, b.err))
		require.Equal(p, 2, p.queue.Len(), "the head, whose attempt goes on, and the third")
		require.False(p, c.asked, "it is not the head while the attempt is under way")
		p.ends(cohort.Verdict{Done: true, More: true})
		<-c.gone
		require.True(p, c.asked)
		require.Nil(p, c.offer.Grant)
	})
}

func TestServeReturnsTheWaitersThatHadLeft(t *testing.T) {
	inParty(t, func(p *party) {
		a, b, c, d := p.joins("a"), p.joins("b"), p.joins("c"), p.joins("d")
		batch := p.queue.Behind(3)
		b.leave()
		<-b.gone
		late := p.joins("late")
		require.Equal(p, []int{1}, p.queue.Serve(batch, 3, gifts))
		<-a.gone
		<-c.gone
		require.Equal(p, []any{"first", "third"}, []any{a.offer.Grant, c.offer.Grant})
		require.ErrorIs(p, b.err, context.Canceled)
		require.Equal(p, 3, p.queue.Len(), "the head and the two that are not in the batch")
		p.ends(cohort.Verdict{Done: true, More: true})
		<-d.gone
		<-late.gone
		require.True(p, d.asked)
	})
}

// The waiter wakes up because its context has ended, and is served at that moment.
func TestAWaiterThatIsServedWhileItLeavesHasBeenServed(t *testing.T) {
	inParty(t, func(p *party) {
		a := p.joins("a")
		batch := p.queue.Behind(1)
		require.Empty(p, p.queue.Serve(batch, 1, func(i int) any {
			a.leave()
			return gifts(i)
		}))
		<-a.gone
		require.NoError(p, a.err)
		require.Equal(p, "first", a.offer.Grant)
		p.ends(cohort.Verdict{Done: true})
	})
}
