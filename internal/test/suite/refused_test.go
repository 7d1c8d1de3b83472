package suite_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

// What a real server refuses for a reason of its own is an outage, with the server's words, and not a lock that is taken.
// The table of docs/errors.md is made with the words alone.
func TestWhatAServerRefusesIsAnOutage(t *testing.T) {
	t.Parallel()
	for words, client := range map[string]func(t *testing.T, srv *redistest.Server) redlatch.Client{
		"NOAUTH": func(t *testing.T, srv *redistest.Server) redlatch.Client {
			rdb := srv.Client(t)
			require.NoError(t, rdb.ConfigSet(t.Context(), "requirepass", "secret").Err())
			return srv.Client(t)
		},
		"NOPERM": func(t *testing.T, srv *redistest.Server) redlatch.Client {
			return srv.User(t, "-eval", "-evalsha")
		},
		"OOM": func(t *testing.T, srv *redistest.Server) redlatch.Client {
			rdb := srv.Client(t)
			require.NoError(t, rdb.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
			require.NoError(t, rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
			return rdb
		},
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Process(t)
			plain := srv.Client(t)
			_, err := semaphore.New(plain, "pool").TrySetPermits(t.Context(), 3)
			require.NoError(t, err)
			rdb := client(t, srv)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			lock, pool, latch := rlock.New(rdb, "lock"), semaphore.New(rdb, "pool"), countdownlatch.New(rdb, "latch")
			waits := redlatch.WithWait(5 * time.Second)
			calls := map[string]func() error{
				"TryLock":     func() error { _, err := lock.TryLock(ctx); return err },
				"Lock":        func() error { _, err := lock.Lock(ctx, waits); return err },
				"TryAcquire":  func() error { return pool.TryAcquire(ctx, 1) },
				"Acquire":     func() error { return pool.Acquire(ctx, 1, waits) },
				"TrySetCount": func() error { _, err := latch.TrySetCount(ctx, 2); return err },
			}
			if words != "OOM" { // reads are served then
				calls["Await"] = func() error { return latch.Await(ctx, waits) }
				calls["IsLocked"] = func() error { _, err := lock.IsLocked(ctx); return err }
			}
			for what, call := range calls {
				err := call()
				require.ErrorIs(t, err, redlatch.ErrUnavailable, what)
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired, what)
				require.NotErrorIs(t, err, redlatch.ErrInvalid, what)
				if words == "NOAUTH" { // a command of more than ten words is not even read
					require.Regexp(t, "NOAUTH|unauthenticated multibulk", err.Error(), what)
				} else {
					require.ErrorContains(t, err, words, what)
				}
				var said redis.Error
				require.ErrorAs(t, err, &said, "%s: the server's own error is in it", what)
			}
		})
	}
}
