package interop_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// The states of a holder who is neither of them, written by hand, as both sides read them.
func TestStatesWrittenByHandAreReadTheSameByBothSides(t *testing.T) {
	w := singleWorld(t)
	const u = "b983c153-7421-469a-addb-44fb92259a1b:42"
	for name, golden := range map[string]struct {
		kind   string
		write  func(ctx context.Context, name string) error
		locked bool
	}{
		"a lock": {"lock", func(ctx context.Context, name string) error { return w.client.HSet(ctx, name, u, 2).Err() }, true},
		"a fenced lock": {"fenced", func(ctx context.Context, name string) error {
			return errorsOf(w.client.HSet(ctx, name, u, 2), w.client.Set(ctx, "redisson_lock_token:{"+name+"}", 2, 0))
		}, true},
		"a fair lock": {"fair", func(ctx context.Context, name string) error { return w.client.HSet(ctx, name, u, 1).Err() }, true},
		"a writer": {"write", func(ctx context.Context, name string) error {
			return w.client.HSet(ctx, name, "mode", "write", u+":write", 3).Err()
		}, true},
		"not a writer": {"write", func(ctx context.Context, name string) error { return readers(ctx, w, name, u) }, false},
		"a reader":     {"read", func(ctx context.Context, name string) error { return readers(ctx, w, name, u) }, true},
		"a writer reads": {"read", func(ctx context.Context, name string) error {
			return errorsOf(w.client.HSet(ctx, name, "mode", "write", u+":write", 1), w.client.HSet(ctx, name, u, 1), w.client.Set(ctx, "{"+name+"}:"+u+":rwlock_timeout:1", 1, time.Minute))
		}, true},
		"a writer alone": {"read", func(ctx context.Context, name string) error {
			return w.client.HSet(ctx, name, "mode", "write", u+":write", 1).Err()
		}, false},
		"a reentrant one": {"nonreentrant", func(ctx context.Context, name string) error { return w.client.HSet(ctx, name, u, 7).Err() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, a := range []actor{w.java(t), w.golang(t)} {
				cases.Add(1)
				o := w.object(golden.kind)
				require.NoError(t, golden.write(t.Context(), o.name))
				require.NoError(t, w.client.PExpire(t.Context(), o.name, 42*time.Second).Err())
				is, err := a.isLocked(o)
				require.NoError(t, err)
				require.Equal(t, golden.locked, is, a.side())
				n, err := a.holds(o)
				require.NoError(t, err)
				require.Zero(t, n, a.side())
				require.ErrorIs(t, a.unlock(o), errNotOwner, a.side())
				if golden.locked {
					ttl, err := a.ttl(o)
					require.NoError(t, err)
					require.InDelta(t, 42, ttl.Seconds(), 3, a.side())
				}
				if o.kind == "fenced" {
					last, err := a.lastToken(o)
					require.NoError(t, err)
					require.EqualValues(t, 2, last, a.side())
				}
				if o.kind == "read" && name == "a reader" {
					require.NoError(t, a.tryLock(o, 0), a.side())
					require.NoError(t, a.unlock(o), a.side())
				} else {
					require.ErrorIs(t, a.tryLock(o, 0), errBusy, a.side())
				}
				forced, err := a.forceUnlock(o)
				require.NoError(t, err)
				require.Equal(t, golden.locked && name != "a writer reads", forced, a.side())
			}
		})
	}
}

func readers(ctx context.Context, w *world, name, owner string) error {
	return errorsOf(w.client.HSet(ctx, name, "mode", "read", owner, 2),
		w.client.Set(ctx, "{"+name+"}:"+owner+":rwlock_timeout:1", 1, time.Minute),
		w.client.Set(ctx, "{"+name+"}:"+owner+":rwlock_timeout:2", 1, time.Minute))
}

func errorsOf(commands ...redis.Cmder) error {
	for _, command := range commands {
		if err := command.Err(); err != nil {
			return err
		}
	}
	return nil
}
