package suite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
)

// Work that ends because its hold is lost returns the cause of its context, as it is or in a sentence of its own. Do says the loss once,
// and as much of it as Unlock knows.
func TestDoSaysALossOnce(t *testing.T) {
	srv := redistest.Mini(t)
	rdb := srv.Client(t)
	soon := redlatch.WithWatchdogTimeout(1200 * time.Millisecond)
	lock, permits := rlock.New(rdb, "once", soon), permitsemaphore.New(rdb, "once permits", permitsemaphore.WithPermits(1), soon)
	both := multilock.New([]redlatch.Locker{rlock.New(rdb, "once 1", soon), rlock.New(rdb, "once 2", soon)})
	for what, do := range map[string]func(fn func(context.Context) error) error{
		"lock":      func(fn func(context.Context) error) error { return lock.Do(t.Context(), fn) },
		"multilock": func(fn func(context.Context) error) error { return both.Do(t.Context(), fn) },
		"permits":   func(fn func(context.Context) error) error { return permits.Do(t.Context(), 1, fn) },
	} {
		for how, say := range map[string]func(cause error) error{
			"as it is":          func(cause error) error { return cause },
			"in other words":    func(cause error) error { return fmt.Errorf("row 17: %w", cause) },
			"beside what it is": func(cause error) error { return errors.Join(io.ErrUnexpectedEOF, cause) },
		} {
			t.Run(what+" "+how, func(t *testing.T) {
				var cause error
				err := do(func(ctx context.Context) error {
					srv.Flush(t)
					<-ctx.Done()
					cause = context.Cause(ctx)
					return say(cause)
				})
				require.ErrorIs(t, err, redlatch.ErrLost)
				require.ErrorIs(t, err, cause)
				require.Equal(t, strings.Count(cause.Error(), " lost at "), strings.Count(err.Error(), " lost at "), err.Error())
				require.Equal(t, how == "beside what it is", errors.Is(err, io.ErrUnexpectedEOF))
				require.Equal(t, how == "in other words", strings.HasPrefix(err.Error(), "row 17: redlatch: "), err.Error())
			})
		}
	}
	err := lock.Do(t.Context(), func(ctx context.Context) error {
		srv.Flush(t)
		<-ctx.Done()
		return io.ErrUnexpectedEOF
	})
	require.ErrorIs(t, err, redlatch.ErrLost, "what the work does not say")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// What the Unlock of a Do knows of a loss, and the cause of a context does not.
func TestDoSaysWhoHasTakenTheLock(t *testing.T) {
	rdb := redistest.Process(t).Client(t)
	err := rlock.New(rdb, "forced", redlatch.WithWatchdogTimeout(1200*time.Millisecond)).Do(t.Context(), func(ctx context.Context) error {
		object, err := fleet.Get(ctx, rdb, redlatch.KindLock, "forced")
		require.NoError(t, err)
		_, err = object.Holders[0].Free(ctx, fleet.Notice{Who: "ada@ops-1", Why: "the import hangs"})
		require.NoError(t, err)
		<-ctx.Done()
		return fmt.Errorf("row 17: %w", context.Cause(ctx))
	})
	loss, ok := errors.AsType[*redlatch.LossError](err)
	require.True(t, ok)
	require.Contains(t, loss.Forced, "ada@ops-1")
	require.Regexp(t, `^row 17: redlatch: "forced" lost at .* by force by ada@ops-1 at .*: the import hangs$`, err.Error())
}
