package redlatch

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/internal/rootapi"
)

// Do takes the lock, runs fn with the hold's context, and gives the lock back, also when fn panics or ends its
// goroutine. ctx bounds the wait and is the parent of fn's context.
//
// The error is fn's, joined with ErrLost if the lock was lost meanwhile, otherwise with Unlock's error. When the lock
// was not acquired, fn does not run and the error is Lock's. An error of fn may look like that one: [TryDo] tells whether fn ran.
func Do(ctx context.Context, lock Locker, fn func(ctx context.Context) error, opts ...Option) (err error) {
	hold, err := lock.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	return within(ctx, hold, fn)
}

// TryDo is Do for work that is left to another process if that is at it already. It asks for the lock once, or waits for it as long as
// [WithWait] among opts says.
//
// ran tells whether fn ran, and nothing else does: fn may fail with any error. While the lock was busy it is false and the error nil. It is
// false too when the lock could not be asked for, or when ctx has ended the wait, and the error says why. When fn ran, the error is what
// Do returns.
func TryDo(ctx context.Context, lock Locker, fn func(ctx context.Context) error, opts ...Option) (ran bool, err error) {
	acquire := lock.TryLock
	if rootapi.Waits(opts) {
		acquire = lock.Lock
	}
	hold, err := acquire(ctx, opts...)
	if err != nil {
		return false, rootapi.NotBusy(ctx, err)
	}
	return true, within(ctx, hold, fn)
}

// within runs fn with the hold's context and gives the lock back.
func within(ctx context.Context, hold *Hold, fn func(ctx context.Context) error) (err error) {
	defer func() {
		// Unlock says ErrLost when the hold was lost, so one error covers both.
		err = errors.Join(err, hold.Unlock(ctx))
	}()
	return fn(hold.Context(ctx))
}
