package holds_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/holds"
)

// A hold is only what contexts need of one.
type hold struct {
	holds.Hold
	name   string
	ending holds.Ending
}

func (h *hold) Ending() *holds.Ending { return &h.ending }

var (
	errOver  = errors.New("the hold is over")
	errCause = errors.New("the parent's own reason")
)

type key string

func TestAContextEndsWithItsHoldAndSaysWhy(t *testing.T) {
	h := &hold{}
	ctx := holds.NewContext(context.Background(), h, nil)
	require.NoError(t, ctx.Err())
	require.True(t, h.ending.End(errOver))
	<-ctx.Done()
	require.Equal(t, context.Canceled, ctx.Err())
	require.Equal(t, errOver, context.Cause(ctx))
}

func TestAHoldEndsOnce(t *testing.T) {
	h := &hold{}
	ctx := holds.NewContext(context.Background(), h, nil)
	require.NoError(t, h.ending.Cause())
	require.True(t, h.ending.End(errOver))
	require.False(t, h.ending.End(errCause))
	require.Equal(t, errOver, h.ending.Cause())
	require.Equal(t, errOver, context.Cause(ctx))
}

func TestAContextOfAHoldThatIsOverHasEnded(t *testing.T) {
	h := &hold{}
	h.ending.End(errOver)
	for _, parent := range []context.Context{context.Background(), t.Context()} {
		ctx := holds.NewContext(parent, h, nil)
		require.Equal(t, context.Canceled, ctx.Err())
		require.Equal(t, errOver, context.Cause(ctx))
	}
}

func TestAContextEndsWithItsParentAndHasItsCause(t *testing.T) {
	parent, cancel := context.WithCancelCause(context.Background())
	ctx := holds.NewContext(parent, &hold{}, nil)
	cancel(errCause)
	<-ctx.Done()
	require.Equal(t, context.Canceled, ctx.Err())
	require.Equal(t, errCause, context.Cause(ctx))
}

func TestAContextOfAParentThatHasEndedHasEnded(t *testing.T) {
	for range 100 {
		parent, cancel := context.WithCancelCause(context.Background())
		cancel(errCause)
		ctx := holds.NewContext(parent, &hold{}, nil)
		require.Equal(t, context.Canceled, ctx.Err(), "as a child of any other context")
		require.Equal(t, errCause, context.Cause(ctx))
	}
	past, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	require.Equal(t, context.DeadlineExceeded, holds.NewContext(past, &hold{}, nil).Err())
}

func TestAContextKeepsItsParentsDeadlineAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		parent, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		ctx := holds.NewContext(parent, &hold{}, nil)
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		require.Equal(t, begin.Add(time.Minute), deadline)
		<-ctx.Done()
		require.Equal(t, time.Minute, time.Since(begin))
		require.Equal(t, context.DeadlineExceeded, ctx.Err())
		require.Equal(t, context.DeadlineExceeded, context.Cause(ctx))
	})
}

// A hidden context has a deadline that it does not tell, as contexts made by hand do.
type hidden struct{ context.Context }

func (hidden) Deadline() (time.Time, bool) { return time.Time{}, false }

func TestAContextEndsWithAParentThatKeepsItsDeadlineToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		begin := time.Now()
		ctx := holds.NewContext(hidden{parent}, &hold{}, nil)
		<-ctx.Done()
		require.Equal(t, time.Minute, time.Since(begin))
		require.Equal(t, context.DeadlineExceeded, context.Cause(ctx))
	})
}

func TestAnEndBeforeTheDeadlineIsNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hold{}
		parent, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		byHold := holds.NewContext(parent, h, nil)
		byParent := holds.NewContext(parent, &hold{}, nil)
		h.ending.End(errOver)
		require.Equal(t, context.Canceled, byHold.Err())
		require.Equal(t, errOver, context.Cause(byHold))
		cancel()
		<-byParent.Done()
		require.Equal(t, context.Canceled, byParent.Err())
		time.Sleep(2 * time.Minute)
		require.Equal(t, context.Canceled, byHold.Err())
		require.Equal(t, errOver, context.Cause(byHold))
	})
}

func TestAContextWithoutADeadlineHasNone(t *testing.T) {
	_, ok := holds.NewContext(t.Context(), &hold{}, nil).Deadline()
	require.False(t, ok)
}

func TestAContextHasTheValuesOfItsParent(t *testing.T) {
	parent := context.WithValue(t.Context(), key("a"), 1)
	ctx := context.WithValue(holds.NewContext(parent, &hold{}, nil), key("b"), 2)
	require.Equal(t, 1, ctx.Value(key("a")))
	require.Equal(t, 2, ctx.Value(key("b")))
	require.Nil(t, ctx.Value(key("c")))
}

func TestChildrenEndWithTheHoldAndKnowTheCause(t *testing.T) {
	h := &hold{}
	parent, stop := context.WithCancel(t.Context())
	defer stop()
	ctx := holds.NewContext(parent, h, nil)
	child, cancel := context.WithTimeout(context.WithValue(ctx, key("a"), 1), time.Hour)
	defer cancel()
	lone, cancelLone := context.WithCancel(ctx)
	cancelLone()
	require.NoError(t, ctx.Err(), "a child that ends ends nobody else")
	require.Error(t, lone.Err())
	h.ending.End(errOver)
	require.Equal(t, context.Canceled, child.Err(), "at once, without a goroutine in between")
	require.Equal(t, errOver, context.Cause(child))
	require.NoError(t, parent.Err(), "the parent goes on")
	survivor := context.WithoutCancel(ctx)
	require.NoError(t, survivor.Err())
}

func TestAfterFuncRunsWhenTheHoldEnds(t *testing.T) {
	h := &hold{}
	ctx := holds.NewContext(context.Background(), h, nil)
	ran := make(chan struct{})
	context.AfterFunc(ctx, func() { close(ran) })
	stopped := atomic.Bool{}
	stop := context.AfterFunc(ctx, func() { stopped.Store(true) })
	require.True(t, stop())
	h.ending.End(errOver)
	<-ran
	require.False(t, stopped.Load())
}

func TestCarriedYieldsTheInnermostHoldFirst(t *testing.T) {
	a, b, c := &hold{name: "a"}, &hold{name: "b"}, &hold{name: "c"}
	ctx := holds.NewContext(t.Context(), a, nil)
	ctx = holds.NewContext(context.WithValue(ctx, key("x"), 1), b, nil)
	ctx, cancel := context.WithCancel(holds.NewContext(ctx, c, nil))
	defer cancel()
	require.Equal(t, []holds.Hold{c, b, a}, carried(ctx))
	for first := range holds.Carried(ctx) {
		require.Same(t, c, first)
		break
	}
	require.Empty(t, carried(t.Context()))
}

func TestDetachDropsTheHoldsAndNothingElse(t *testing.T) {
	outer, inner := &hold{}, &hold{}
	ctx := holds.NewContext(context.WithValue(t.Context(), key("a"), 1), outer, nil)
	detached := holds.Detach(ctx)
	require.Empty(t, carried(detached))
	require.Equal(t, 1, detached.Value(key("a")))
	again := holds.NewContext(detached, inner, nil)
	require.Equal(t, []holds.Hold{inner}, carried(again), "what was dropped does not come back")
	outer.ending.End(errOver)
	require.Equal(t, errOver, context.Cause(detached), "it still ends with the hold")
	child, cancel := context.WithCancel(detached)
	defer cancel()
	require.Equal(t, errOver, context.Cause(child))
}

func TestEndReachesContextsThatAreMadeAtTheSameTime(t *testing.T) {
	for range 200 {
		h, ready := &hold{}, make(chan context.Context)
		go func() { ready <- holds.NewContext(context.Background(), h, nil) }()
		h.ending.End(errOver)
		ctx := <-ready
		require.Equal(t, errOver, context.Cause(ctx))
	}
}

func TestALentHoldIsCarriedForACallAndDoesNotEndIt(t *testing.T) {
	outer, lent := &hold{name: "outer"}, &hold{name: "lent"}
	parent := holds.NewContext(context.WithValue(t.Context(), key("a"), 1), outer, nil)
	ctx, cancel := context.WithCancel(holds.Lend(parent, lent))
	defer cancel()
	require.Equal(t, []holds.Hold{lent, outer}, carried(ctx))
	require.Equal(t, 1, ctx.Value(key("a")))
	lent.ending.End(errCause)
	require.NoError(t, ctx.Err())
	outer.ending.End(errOver)
	<-ctx.Done()
	require.Equal(t, errOver, context.Cause(ctx))
	require.Empty(t, carried(holds.Detach(ctx)))
}

func TestWhoStandsOnAHoldIsToldOfItsEndBeforeEndReturns(t *testing.T) {
	h := &hold{}
	told := &heir{}
	h.ending.Bequeath(told)
	require.Empty(t, told.causes)
	h.ending.End(errOver)
	h.ending.End(errCause)
	require.Equal(t, []error{errOver}, told.causes, "once, with the cause")
	h.ending.Bequeath(told)
	require.Equal(t, []error{errOver, errOver}, told.causes, "at once when it has ended")
}

type heir struct{ causes []error }

func (h *heir) Ended(cause error)    { h.causes = append(h.causes, cause) }
func (h *heir) Asked(string, string) {}

// carried are the holds that ctx carries.
func carried(ctx context.Context) (all []holds.Hold) {
	for hold := range holds.Carried(ctx) {
		all = append(all, hold)
	}
	return all
}
