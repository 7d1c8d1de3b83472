package suite_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// A zero value panics with one sentence that says what to do, whatever is asked of it; and so does what comes
// with an error.
func TestAZeroValuePanicsWithOneSentence(t *testing.T) {
	ctx := context.Background()
	const (
		noHold   = "redlatch: a redlatch.Hold is used that no lock has made; look at the error of Lock before its hold"
		noPermit = "redlatch: a permitsemaphore.Permit is used that no semaphore has made; look at the error of Acquire before its permit"
	)
	locks := map[string]redlatch.Locker{
		"redlatch: rlock.Lock is used without New; make it by rlock.New":                             &rlock.Lock{},
		"redlatch: fairlock.Lock is used without New; make it by fairlock.New":                       &fairlock.Lock{},
		"redlatch: spinlock.Lock is used without New; make it by spinlock.New":                       &spinlock.Lock{},
		"redlatch: fencedlock.Lock is used without New; make it by fencedlock.New":                   &fencedlock.Lock{},
		"redlatch: rwlock.Lock is used without New; make it by rwlock.New":                           (&rwlock.Lock{}).Reader(),
		"redlatch: redlock.Lock is used without New; make it by redlock.New":                         &redlock.Lock{},
		"redlatch: multilock.Group is used without NewGroup; make it by multilock.NewGroup":          &multilock.Group{},
		"redlatch: a multi-lock of no locks would exclude nobody; make it by New, with at least one": &multilock.Lock{},
	}
	for sentence, lock := range locks {
		require.PanicsWithValue(t, sentence, func() { _, _ = lock.Lock(ctx) })
		require.PanicsWithValue(t, sentence, func() { _, _ = lock.TryLock(ctx) })
		require.PanicsWithValue(t, sentence, func() { _ = redlatch.Do(ctx, lock, nil) })
		require.PanicsWithValue(t, sentence, func() { lock.Name() })
	}
	for _, call := range []func(*redlatch.Hold){
		func(h *redlatch.Hold) { _ = h.Unlock(ctx) }, func(h *redlatch.Hold) { h.Leave() }, func(h *redlatch.Hold) { h.Context(ctx) },
		func(h *redlatch.Hold) { _ = h.Extend(ctx, time.Second) }, func(h *redlatch.Hold) { h.Name() }, func(h *redlatch.Hold) { h.Kind() },
		func(h *redlatch.Hold) { h.Owner() }, func(h *redlatch.Hold) { h.Token() }, func(h *redlatch.Hold) { h.Until() },
		func(h *redlatch.Hold) { h.Valid() }, func(h *redlatch.Hold) { h.LogValue() },
	} {
		require.PanicsWithValue(t, noHold, func() { call(&redlatch.Hold{}) })
		require.PanicsWithValue(t, noHold, func() { call(nil) })
	}
	for _, call := range []func(*permitsemaphore.Permit){
		func(p *permitsemaphore.Permit) { _ = p.Release(ctx) }, func(p *permitsemaphore.Permit) { p.Leave() },
		func(p *permitsemaphore.Permit) { p.IDs() }, func(p *permitsemaphore.Permit) { p.Context(ctx) },
		func(p *permitsemaphore.Permit) { _ = p.UpdateLease(ctx, time.Second) }, func(p *permitsemaphore.Permit) { p.Until() },
		func(p *permitsemaphore.Permit) { p.Valid() }, func(p *permitsemaphore.Permit) { p.LogValue() },
	} {
		require.PanicsWithValue(t, noPermit, func() { call(&permitsemaphore.Permit{}) })
		require.PanicsWithValue(t, noPermit, func() { call(nil) })
	}
	for sentence, calls := range map[string][]func(){
		"redlatch: rlock.Lock is used without New; make it by rlock.New": {
			func() { (&rlock.Lock{}).Name() }, func() { _, _ = (&rlock.Lock{}).Inspect(ctx) }},
		"redlatch: rwlock.Lock is used without New; make it by rwlock.New": {
			func() { (&rwlock.Lock{}).Name() }, func() { _, _ = (&rwlock.Lock{}).RLock(ctx) }, func() { _, _ = (&rwlock.Lock{}).Lock(ctx) }},
		"redlatch: a multi-lock of no locks would exclude nobody; make it by New, with at least one": {
			func() { _, _ = (&multilock.Lock{}).IsLocked(ctx) }, func() { _, _ = (&multilock.Lock{}).Inspect(ctx) }},
		"redlatch: multilock.Group is used without NewGroup; make it by multilock.NewGroup": {func() { (&multilock.Group{}).Values() }},
		"redlatch: redlock.Lock is used without New; make it by redlock.New": {
			func() { _, _ = (&redlock.Lock{}).IsLocked(ctx) }, func() { _, _ = (&redlock.Lock{}).Inspect(ctx) }},
		"redlatch: semaphore.Semaphore is used without New; make it by semaphore.New": {
			func() { _ = (&semaphore.Semaphore{}).Acquire(ctx, 1) }, func() { _ = (&semaphore.Semaphore{}).Release(ctx, 1) },
			func() { _, _ = (&semaphore.Semaphore{}).TryDo(ctx, 1, nil) }, func() { _, _ = (&semaphore.Semaphore{}).AvailablePermits(ctx) },
			func() { _, _ = (&semaphore.Semaphore{}).TrySetPermits(ctx, 1) }, func() { (&semaphore.Semaphore{}).Name() }},
		"redlatch: permitsemaphore.Semaphore is used without New; make it by permitsemaphore.New": {
			func() { _, _ = (&permitsemaphore.Semaphore{}).Acquire(ctx, 1) }, func() { _, _ = (&permitsemaphore.Semaphore{}).Acquire(ctx, 0) },
			func() { _ = (&permitsemaphore.Semaphore{}).Release(ctx, "00000000000000000000000000000000") },
			func() { _, _ = (&permitsemaphore.Semaphore{}).TotalPermits(ctx) }, func() { _ = (&permitsemaphore.Semaphore{}).SetPermits(ctx, 1) },
			func() { _, _ = (&permitsemaphore.Semaphore{}).Inspect(ctx) }, func() { (&permitsemaphore.Semaphore{}).Name() }},
		"redlatch: countdownlatch.Latch is used without New; make it by countdownlatch.New": {
			func() { _ = (&countdownlatch.Latch{}).Await(ctx) }, func() { _ = (&countdownlatch.Latch{}).CountDown(ctx) },
			func() { _, _ = (&countdownlatch.Latch{}).TrySetCount(ctx, 1) }, func() { (&countdownlatch.Latch{}).Name() }},
		"redlatch: fencedlock.Guard is used without NewGuard; make it by fencedlock.NewGuard": {
			func() { (&fencedlock.Guard{}).Name() }, func() { _ = (&fencedlock.Guard{}).For(shown(1)).Claim(ctx) }},
		"redlatch: fencedlock.Writer is used without For; make it by the For of a guard": {
			func() { _ = (&fencedlock.Writer{}).Set(ctx, "k", 1) }, func() { _ = (&fencedlock.Writer{}).Claim(ctx) }},
	} {
		for _, call := range calls {
			require.PanicsWithValue(t, sentence, call)
		}
	}
}

// A token is a hold that a program made up.
type shown int64

func (shown) Name() string   { return "orders" }
func (s shown) Token() int64 { return int64(s) }
func (shown) Owner() string  { return "a" }
