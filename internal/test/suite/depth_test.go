package suite_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// A sounding is a hook of a client that notes how deep the stack is when a command comes to the client.
type sounding struct {
	mu        sync.Mutex
	functions int             // of this module, on the deepest stack
	files     map[string]bool // that they are in
	stack     []string
}

func (s *sounding) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (s *sounding) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *sounding) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		callers := make([]uintptr, 200)
		frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
		files, stack := map[string]bool{}, []string{}
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if strings.Contains(f.Function, "redlatch/redlatch") && !strings.HasSuffix(f.File, "_test.go") {
				files[f.File] = true
				stack = append(stack, f.Function[strings.LastIndex(f.Function, "/")+1:])
			}
		}
		s.mu.Lock()
		if len(stack) > s.functions {
			s.functions, s.files, s.stack = len(stack), files, stack
		}
		s.mu.Unlock()
		return next(ctx, cmd)
	}
}

// From a call of the program down to its Redis client there are few functions, in few files, so that whoever wants to can follow the
// way of one command. The context cannot be cancelled here, else a worker takes the last steps.
func TestTheWayFromACallToTheClientIsShort(t *testing.T) {
	ctx := context.Background()
	deep := &sounding{}
	rdb := redistest.Process(t).Client(t)
	rdb.AddHook(deep)
	short := func(what string, functions, files int, call func() error) {
		t.Helper()
		require.NoError(t, call(), what) // loads the scripts
		deep.functions = 0
		require.NoError(t, call(), what)
		t.Logf("%s: %d functions in %d files", what, deep.functions, len(deep.files))
		require.Positive(t, deep.functions, what)
		if deep.functions > functions || len(deep.files) > files {
			t.Errorf("%s: %d functions in %d files, at most %d in %d expected: %v", what, deep.functions, len(deep.files), functions, files, deep.stack)
		}
	}
	both := func(lock redlatch.Locker, functions, files int) {
		t.Helper()
		short(lock.Name(), functions, files, func() error {
			hold, err := lock.Lock(ctx)
			if err != nil {
				return err
			}
			return hold.Unlock(ctx)
		})
	}
	both(rlock.New(rdb, "rlock"), 13, 8)
	both(fencedlock.New(rdb, "fencedlock"), 13, 8)
	both(rwlock.New(rdb, "rwlock").Writer(), 14, 8) // a side's way leads to the common one
	both(rwlock.New(rdb, "rwlock").Reader(), 14, 8)
	both(spinlock.New(rdb, "spinlock"), 13, 8)
	both(fairlock.New(rdb, "fairlock"), 16, 8)
	both(multilock.New([]redlatch.Locker{rlock.New(rdb, "one"), rlock.New(rdb, "two")}), 18, 8)
	both(redlock.New([]redlatch.Client{rdb, redistest.Process(t).Client(t)}, "redlock"), 18, 9)

	pool := semaphore.New(rdb, "pool")
	_, err := pool.TrySetPermits(ctx, 1)
	require.NoError(t, err)
	short("semaphore", 14, 7, func() error {
		if err := pool.Acquire(ctx, 1); err != nil {
			return err
		}
		return pool.Release(ctx, 1)
	})
	permits := permitsemaphore.New(rdb, "permits")
	_, err = permits.TrySetPermits(ctx, 1)
	require.NoError(t, err)
	short("permitsemaphore", 15, 7, func() error {
		permit, err := permits.Acquire(ctx, 1)
		if err != nil {
			return err
		}
		return permit.Release(ctx)
	})
	latch := countdownlatch.New(rdb, "latch")
	short("countdownlatch", 13, 7, func() error {
		if _, err := latch.TrySetCount(ctx, 1); err != nil {
			return err
		}
		return latch.CountDown(ctx)
	})
}
