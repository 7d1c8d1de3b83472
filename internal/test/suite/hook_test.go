package suite_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// A mine is a hook of a client that panics at some of the scripts it sees, which are counted from 1.
type mine struct {
	first, last int64 // the scripts at which it panics
	after       bool  // the server has executed them
	armed       atomic.Bool
	seen, blown atomic.Int64
}

func (*mine) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *mine) treads(cmds ...redis.Cmder) (blows bool) {
	for _, cmd := range cmds {
		if m.armed.Load() && strings.HasPrefix(cmd.Name(), "eval") {
			n := m.seen.Add(1)
			blows = blows || m.first <= n && n <= m.last
		}
	}
	return blows
}

func (m *mine) blow() {
	m.blown.Add(1)
	panic("a mine")
}

func (m *mine) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		blows := m.treads(cmd)
		if blows && !m.after {
			m.blow()
		}
		err := next(ctx, cmd)
		if blows {
			m.blow()
		}
		return err
	}
}

func (m *mine) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		blows := m.treads(cmds...)
		if blows && !m.after {
			m.blow()
		}
		err := next(ctx, cmds)
		if blows {
			m.blow()
		}
		return err
	}
}

// A field is what a test walks over: clients with the mine, clients of the same servers without, and what became of the
// panics.
type field struct {
	t       *testing.T
	mined   [3]redlatch.Client
	safe    [3]redlatch.Client
	opts    []redlatch.Option
	ctx     context.Context
	raised  int64
	written page
}

// step makes a call that may panic.
func (f *field) step(call func()) {
	defer func() {
		if recover() != nil {
			f.raised++
		}
	}()
	call()
}

// lock makes all calls of a lock, with renewals in between, and finds it free afterwards.
func (f *field) lock(of func(clients [3]redlatch.Client, opts ...redlatch.Option) locktest.Lock) {
	lock := of(f.mined, f.opts...)
	var h *redlatch.Hold
	f.step(func() { h, _ = lock.Lock(f.ctx) })
	f.step(func() { _, _ = lock.Inspect(f.ctx) })
	f.step(func() { _, _ = lock.RemainingTTL(f.ctx) })
	f.step(func() { _, _ = lock.HoldCount(f.ctx) })
	f.step(func() {
		if h, err := of(f.mined, append(f.opts, redlatch.WithLease(time.Minute))...).TryLock(f.ctx); err == nil {
			_ = h.Unlock(f.ctx)
		}
	})
	if h != nil {
		time.Sleep(20 * time.Second)
		require.True(f.t, h.Valid(), "a renewal that fails is repeated")
		f.step(func() { _ = h.Extend(f.ctx, time.Minute) })
		f.step(func() { _ = h.Unlock(f.ctx) })
	}
	time.Sleep(5 * time.Second)
	h, err := of(f.safe, briefly.Linger(0)).TryLock(f.ctx)
	require.NoError(f.t, err, "another process finds it free")
	require.NoError(f.t, h.Unlock(f.ctx))
	h = nil
	f.step(func() { h, _ = lock.Lock(f.ctx) })
	f.step(func() { _, _ = lock.ForceUnlock(f.ctx) })
	if h != nil {
		f.step(func() { _ = h.Unlock(f.ctx) })
	}
}

var walks = map[string]func(f *field){
	"rlock": func(f *field) {
		f.lock(func(c [3]redlatch.Client, opts ...redlatch.Option) locktest.Lock {
			return rlock.New(c[0], "x", opts...)
		})
	},
	"fairlock": func(f *field) {
		f.lock(func(c [3]redlatch.Client, opts ...redlatch.Option) locktest.Lock {
			return fairlock.New(c[0], "x", opts...)
		})
	},
	"rwlock": func(f *field) {
		f.lock(func(c [3]redlatch.Client, opts ...redlatch.Option) locktest.Lock {
			return rwlock.New(c[0], "x", opts...)
		})
	},
	"spinlock": func(f *field) {
		f.lock(func(c [3]redlatch.Client, opts ...redlatch.Option) locktest.Lock {
			return spinlock.New(c[0], "x", opts...)
		})
	},
	"fencedlock": func(f *field) {
		f.lock(func(c [3]redlatch.Client, opts ...redlatch.Option) locktest.Lock {
			return fencedlock.New(c[0], "x", opts...)
		})
	},
	"redlock": func(f *field) {
		f.lock(func(c [3]redlatch.Client, opts ...redlatch.Option) locktest.Lock {
			return redlock.New(c[:], "x", opts...)
		})
	},
	"multilock": func(f *field) {
		f.lock(func(c [3]redlatch.Client, opts ...redlatch.Option) locktest.Lock {
			return multilock.New([]redlatch.Locker{rlock.New(c[0], "x", opts...), rlock.New(c[1], "y", opts...)},
				redlatch.WithLogger(slog.New(slog.NewTextHandler(&f.written, nil))))
		})
	},
	"a minimum hold": func(f *field) {
		lock := rlock.New(f.mined[0], "x", append(f.opts, redlatch.WithAtLeast(10*time.Second))...)
		f.step(func() {
			if h, err := lock.Lock(f.ctx); err == nil {
				_ = h.Unlock(f.ctx)
			}
		})
		time.Sleep(15 * time.Second)
		h, err := rlock.New(f.safe[0], "x", briefly.Linger(0)).TryLock(f.ctx)
		require.NoError(f.t, err)
		require.NoError(f.t, h.Unlock(f.ctx))
	},
	"semaphore": func(f *field) {
		s, safe := semaphore.New(f.mined[0], "x", f.log(), briefly.Linger(0)), semaphore.New(f.safe[0], "x", briefly.Linger(0))
		_, err := safe.TrySetPermits(f.ctx, 5)
		require.NoError(f.t, err)
		taken := false
		f.step(func() { taken = s.Acquire(f.ctx, 2) == nil })
		f.step(func() { _, _ = s.AvailablePermits(f.ctx) })
		if taken {
			f.step(func() { _ = s.Release(f.ctx, 2) })
		}
		time.Sleep(time.Minute)
		left, err := safe.AvailablePermits(f.ctx)
		require.NoError(f.t, err)
		require.EqualValues(f.t, 5, left)
	},
	"permitsemaphore": func(f *field) {
		s, safe := permitsemaphore.New(f.mined[0], "x", f.opts...), permitsemaphore.New(f.safe[0], "x", briefly.Linger(0))
		_, err := safe.TrySetPermits(f.ctx, 5)
		require.NoError(f.t, err)
		var p *permitsemaphore.Permit
		f.step(func() { p, _ = s.Acquire(f.ctx, 2) })
		if p != nil {
			time.Sleep(20 * time.Second)
			require.True(f.t, p.Valid())
			f.step(func() { _ = p.Release(f.ctx) })
		}
		time.Sleep(time.Minute)
		left, err := safe.AvailablePermits(f.ctx)
		require.NoError(f.t, err)
		require.EqualValues(f.t, 5, left)
	},
	"countdownlatch": func(f *field) {
		l, safe := countdownlatch.New(f.mined[0], "x", f.log(), briefly.Linger(0)), countdownlatch.New(f.safe[0], "x", briefly.Linger(0))
		_, err := safe.TrySetCount(f.ctx, 2)
		require.NoError(f.t, err)
		f.step(func() { _, _ = l.Count(f.ctx) })
		f.step(func() { _ = l.CountDown(f.ctx) })
		f.step(func() { _ = l.Await(f.ctx, redlatch.WithWait(time.Second)) })
		time.Sleep(time.Minute)
		left, err := safe.Count(f.ctx)
		require.NoError(f.t, err)
		require.EqualValues(f.t, 1, left, "a count-down that has begun is carried through")
	},
}

func (f *field) log() redlatch.Option {
	return redlatch.WithLogger(slog.New(slog.NewTextHandler(&f.written, nil)))
}

// inField runs walk with a mine at these scripts, and tells whether it has blown as often as it could.
func inField(t *testing.T, m *mine, walk func(f *field)) (blown int64) {
	redistest.Bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context()) // as of any request: it may end, so its commands run on workers
		defer cancel()
		f := &field{t: t, ctx: ctx}
		f.opts = []redlatch.Option{f.log(), briefly.Linger(0), redlatch.WithWatchdogTimeout(12 * time.Second)}
		for i := range f.mined {
			server, _ := redistest.InMemory(t)
			for _, clients := range []*[3]redlatch.Client{&f.mined, &f.safe} {
				options := redistest.InMemoryOptions(server)
				options.Addr = fmt.Sprintf("server-%d", i)
				client := redis.NewClient(options)
				t.Cleanup(func() { _ = client.Close() })
				if clients == &f.mined {
					client.AddHook(m)
				}
				clients[i] = client
			}
		}
		m.armed.Store(true)
		walk(f)
		time.Sleep(time.Minute)
		synctest.Wait()
		blown = m.blown.Load()
		lines := int64(bytes.Count([]byte(f.written.String()), []byte("has panicked in the background")))
		require.Equal(t, blown, f.raised+lines, "each panic is raised by a call or written to the log\n%s", f.written.String())
	})
	return blown
}

// Without the library's help a panic on one of its goroutines ends the process. So this test fails by ending.
func TestWhatAHookPanicsWithIsRaisedByACallOrWrittenToTheLog(t *testing.T) {
	t.Parallel()
	for name, walk := range walks {
		for _, after := range []bool{false, true} {
			for _, length := range []int64{1, 3}[:redistest.Rounds(1, 2)] { // three: the command that settles the first is harmed too
				t.Run(fmt.Sprintf("%s/after %v/%d in a row", name, after, length), func(t *testing.T) {
					for first := int64(1); ; first++ {
						if inField(t, &mine{first: first, last: first + length - 1, after: after}, walk) == 0 {
							require.Greater(t, first, int64(2))
							break
						}
					}
				})
			}
		}
	}
}
