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

// A party is a line whose head's attempt is under way, with others behind it.
type party struct {
	*testing.T
	line *cohort.Queue
	end  chan cohort.Verdict // of the head's attempt, which is the only one
	over chan error          // the head's wait
}

func inParty(t *testing.T, test func(p *party)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &party{t, cohort.NewQueue(nil), make(chan cohort.Verdict), make(chan error, 1)}
		go func() {
			p.over <- p.line.WaitFor(t.Context(), time.Hour, &cohort.Request{Who: "head"}, func(context.Context) (cohort.Verdict, error) {
				return <-p.end, nil
			})
		}()
		synctest.Wait()
		test(p)
	})
}

// A guest waits behind the head.
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
		g.err = p.line.WaitFor(ctx, time.Hour, &g.offer, func(context.Context) (cohort.Verdict, error) {
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

func TestABatchIsThoseBehindTheHeadInTheOrderOfTheirArrival(t *testing.T) {
	inParty(t, func(p *party) {
		require.Empty(p, p.line.Behind(5), "the head is alone")
		guests := []*guest{p.joins("a"), p.joins("b"), p.joins("c")}
		require.Equal(p, []any{"a", "b", "c"}, names(p.line.Behind(5)))
		require.Equal(p, []any{"a", "b"}, names(p.line.Behind(2)))
		guests[1].leave()
		synctest.Wait()
		require.Equal(p, []any{"a", "c"}, names(p.line.Behind(2)))
		ctx, leave := context.WithCancel(p.Context())
		go func() { _ = p.line.Wait(ctx, time.Hour, nil) }() // it cannot be given anything
		synctest.Wait()
		guests = append(guests, p.joins("d"))
		require.Equal(p, []any{"a", "c"}, names(p.line.Behind(5)))
		leave()
		for _, g := range guests {
			g.leave()
		}
		synctest.Wait()
		p.ends(cohort.Verdict{Done: true})
	})
}

func TestThoseWhoAreServedGoWithTheirGiftsAndTheNextIsTheHead(t *testing.T) {
	inParty(t, func(p *party) {
		a, b, c := p.joins("a"), p.joins("b"), p.joins("c")
		batch := p.line.Behind(3)
		require.Empty(p, p.line.Serve(batch, 2, gifts))
		<-a.gone
		<-b.gone
		require.Equal(p, []any{"first", "second"}, []any{a.offer.Grant, b.offer.Grant})
		require.NoError(p, errors.Join(a.err, b.err))
		require.Equal(p, 2, p.line.Len(), "the head, whose attempt goes on, and the third")
		require.False(p, c.asked, "it is not the head while the attempt is under way")
		p.ends(cohort.Verdict{Done: true, More: true})
		<-c.gone
		require.True(p, c.asked)
		require.Nil(p, c.offer.Grant)
	})
}

func TestTheSharesOfThoseWhoLeftMeanwhileAreToldAndNobodyElseIsServed(t *testing.T) {
	inParty(t, func(p *party) {
		a, b, c, d := p.joins("a"), p.joins("b"), p.joins("c"), p.joins("d")
		batch := p.line.Behind(3)
		b.leave()
		<-b.gone
		late := p.joins("late")
		require.True(p, p.line.Left(batch, 1))
		require.False(p, p.line.Left(batch, 2))
		require.Equal(p, []int{1}, p.line.Serve(batch, 3, gifts))
		<-a.gone
		<-c.gone
		require.Equal(p, []any{"first", "third"}, []any{a.offer.Grant, c.offer.Grant})
		require.ErrorIs(p, b.err, context.Canceled)
		require.Equal(p, 3, p.line.Len(), "the head and the two who are not of the batch")
		p.ends(cohort.Verdict{Done: true, More: true})
		<-d.gone
		<-late.gone
		require.True(p, d.asked)
	})
}

// Served and cancelled at the same moment, it has been served: it wakes up because its context has ended, while it is served.
func TestOneWhoIsServedAndLeavesAtOnceHasBeenServed(t *testing.T) {
	inParty(t, func(p *party) {
		a := p.joins("a")
		batch := p.line.Behind(1)
		require.Empty(p, p.line.Serve(batch, 1, func(i int) any {
			a.leave()
			return gifts(i)
		}))
		<-a.gone
		require.NoError(p, a.err)
		require.Equal(p, "first", a.offer.Grant)
		p.ends(cohort.Verdict{Done: true})
	})
}
