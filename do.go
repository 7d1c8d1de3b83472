package redlatch

import (
	"context"
	"errors"
	"strings"

	"github.com/redlatch/redlatch/internal/rootapi"
)

// Do takes the lock, runs fn with the hold's context, and gives the lock back, also when fn panics or ends
// its goroutine. ctx bounds the wait and is the parent of fn's context.
//
// The error is fn's, joined with ErrLost if the lock was lost meanwhile, otherwise with Unlock's error. When
// the lock was not acquired, fn does not run and the error is Lock's. An error of fn may look like that one:
// [TryDo] tells whether fn ran.
func Do(ctx context.Context, lock Locker, fn func(ctx context.Context) error, opts ...Option) (err error) {
	hold, err := lock.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	return within(ctx, hold, fn)
}

// TryDo is Do for work that is left to another process if that is at it already. It asks for the lock once,
// or waits for it as long as [WithWait] among opts says.
//
// ran tells whether fn ran, and nothing else does: fn may fail with any error. While the lock was busy it is
// false and the error nil. It is false too when the lock could not be asked for, or when ctx has ended the
// wait, and the error says why. When fn ran, the error is what Do returns.
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
		err = joined(err, hold.Unlock(ctx))
	}()
	return fn(hold.Context(ctx))
}

func init() { rootapi.Joined = joined }

// joined is the error of work, joined with that of what gave back what the work had. Work that has ended
// because its hold was lost returns the cause of its context as a rule. Then the text says the loss once, in
// the words of the Unlock, which may know more.
func joined(work, unlock error) error {
	cause, ofWork := errors.AsType[*LossError](work)
	loss, ofUnlock := errors.AsType[*LossError](unlock)
	if !ofWork || !ofUnlock || cause.Name != loss.Name || cause.Owner != loss.Owner {
		return errors.Join(work, unlock)
	}
	return &lostWork{strings.Replace(work.Error(), cause.Error(), unlock.Error(), 1), []error{unlock, work}}
}

// A lostWork is the error of work that has failed because of a loss.
type lostWork struct {
	text string
	all  []error // that of the Unlock first: its LossError knows most
}

func (l *lostWork) Error() string { return l.text }

// Unwrap returns both.
func (l *lostWork) Unwrap() []error { return l.all }
