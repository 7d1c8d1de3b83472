package redlatch

import (
	"context"
	"errors"
)

// Do takes the lock, runs fn with the hold's context, and gives the lock back, also when fn panics or ends its
// goroutine. ctx bounds the wait and is the parent of fn's context.
//
// The error is fn's, joined with ErrLost if the lock was lost meanwhile, otherwise with Unlock's error. When the lock
// was not acquired, fn does not run and the error is Lock's.
func Do(ctx context.Context, lock Locker, fn func(ctx context.Context) error, opts ...Option) (err error) {
	hold, err := lock.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() {
		// Unlock says ErrLost when the hold was lost, so one error covers both.
		err = errors.Join(err, hold.Unlock(ctx))
	}()
	return fn(hold.Context(ctx))
}
