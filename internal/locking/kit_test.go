package locking_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

const name = "lock"

// plain is a lock that goes from hand to hand without a command, unless its options have each acquisition confirmed.
var (
	plain     = locking.HandingOver(locking.Plain())
	confirmed = redlatch.WithoutLocalHandOff()
)

// A kit is a server on fake time, a client of it whose commands a test may harm, and the lock under test.
type kit struct {
	*testing.T
	ctx    context.Context
	mini   *miniredis.Miniredis
	honest *redis.Client // its commands are left alone
	client *redis.Client
	start  time.Time
	said   []redlatch.ClientOption // of the clients that are made from now on

	mu     sync.Mutex
	plan   func(op string) fault // nil: no harm
	counts map[string]int        // commands sent, by op
	passed int                   // releases that passed the lock to another process
	events []redlatch.Event
	holds  []*redlatch.Hold
	dial   time.Duration // how long another process takes to connect
}

func inBubble(t *testing.T, run func(t *testing.T, k *kit)) {
	t.Helper()
	redistest.Bubble(t, func(t *testing.T) {
		mini, honest := redistest.InMemory(t)
		client := redis.NewClient(redistest.InMemoryOptions(mini))
		t.Cleanup(func() { _ = client.Close() })
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		k := &kit{T: t, ctx: ctx, mini: mini, honest: honest, client: client}
		t.Cleanup(func() {
			k.mu.Lock()
			holds := k.holds
			k.mu.Unlock()
			for _, h := range holds { // of a test that failed
				_ = h.Unlock(ctx)
			}
		})
		k.teach()
		synctest.Wait() // the messages of its releases have passed: one would have a waiter ask who does not ask by itself
		client.AddHook(k)
		k.counts, k.events, k.start = map[string]int{}, nil, time.Now()
		run(t, k)
		k.finish()
	})
}

// teach has the server know the scripts, so that a test need not count the sends with their source.
func (k *kit) teach() {
	k.Helper()
	b := k.lock()
	h, err := locking.Lock(k.ctx, b, nil)
	require.NoError(k, err)
	time.Sleep(11 * time.Second) // one renewal
	require.NoError(k, h.Extend(k.ctx, time.Minute))
	require.NoError(k, h.Unlock(k.ctx))
	_, err = locking.IsLocked(k.ctx, b)
	require.NoError(k, err)
	h = k.take(b, k.ctx)
	next := k.wait(b, k.ctx)
	require.NoError(k, h.Unlock(k.ctx))
	h = (<-next).hold
	next = k.wait(k.foreign(), k.ctx)
	require.NoError(k, h.Unlock(k.ctx))
	h = (<-next).hold
	require.NoError(k, h.Unlock(k.ctx))
	nothing := baselock.Subject{Key: "taught", Owner: "o"}
	ended := plain.Queue.HandOff(nothing, row.Turn{Row: keys.LockRowKeys("taught"), Next: "n"}) // the end of a streak
	require.NoError(k, k.honest.Process(k.ctx, ended.Cmder(k.ctx, true)))
}

// finish gives back what the test has not, and requires that nothing is left when all ghosts have had their time.
func (k *kit) finish() {
	k.Helper()
	k.faults(nil)
	for _, h := range k.holds {
		if err := h.Unlock(k.ctx); err != nil && !errors.Is(err, redlatch.ErrReleased) && !errors.Is(err, redlatch.ErrLost) {
			k.Errorf("give back at the end: %v", err)
		}
	}
	time.Sleep(3 * time.Minute)
	left := slices.DeleteFunc(k.mini.Keys(), func(key string) bool { return strings.HasPrefix(key, "redlatch_client") }) // see REDLATCH_REGISTRY
	require.Empty(k, left, "left behind")
}

func (k *kit) lock(opts ...redlatch.Option) *baselock.Base {
	return k.lockOf(&plain, append(opts, confirmed)...)
}

func (k *kit) lockOf(kind *baselock.Kind, opts ...redlatch.Option) *baselock.Base {
	return baselock.New(k.client, name, kind, append([]redlatch.Option{
		briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)),
		redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.events = append(k.events, e)
		})),
	}, opts...))
}

// take acquires and keeps the hold reachable: the garbage collector lives outside of the bubble.
func (k *kit) take(b *baselock.Base, ctx context.Context, opts ...redlatch.Option) *redlatch.Hold {
	k.Helper()
	h, err := locking.Lock(ctx, b, opts)
	require.NoError(k, err)
	return k.keep(h)
}

func (k *kit) keep(h *redlatch.Hold) *redlatch.Hold {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holds = append(k.holds, h)
	return h
}

// at sleeps until a moment of the bubble.
func (k *kit) at(d time.Duration) { time.Sleep(time.Until(k.start.Add(d))) }

// count is the hold count that Redis has for the owner; 0 when it holds nothing.
func (k *kit) count(owner string) int {
	k.Helper()
	n, err := k.honest.HGet(k.ctx, name, owner).Int()
	if !errors.Is(err, redis.Nil) {
		require.NoError(k, err)
	}
	return n
}

// trusted is how long after the start the hold is trusted.
func (k *kit) trusted(h *redlatch.Hold) time.Duration { return h.Until().Sub(k.start) }

func (k *kit) locked() bool { return k.mini.Exists(name) }

func (k *kit) sent(op string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counts[op]
}

func (k *kit) passes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.passed
}

func (k *kit) told(kind redlatch.EventKind) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// A fault is what happens to one command.
type fault struct {
	before  time.Duration // how long it is on its way
	refused bool          // it is not executed, and the client knows
	panics  bool          // a hook of the client does
	dies    bool          // it is executed, and then a hook of the client panics
	denied  bool          // the server does not execute it, and would not do so again
	unknown bool          // the server does not know the command
	mute    bool          // it is executed, and the server denies its message
	lost    bool          // it is executed, and the client does not learn of it
	ghost   time.Duration // the client gives up at once, and then it is executed
	after   time.Duration // how long the answer is on its way
}

// faults has plan decide about every command from now on. It runs under the kit's mutex.
func (k *kit) faults(plan func(op string) fault) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plan = plan
}

// harm makes the next n commands of one kind suffer.
func (k *kit) harm(op string, n int, f fault) {
	k.faults(func(o string) fault {
		if o != op || n == 0 {
			return fault{}
		}
		n--
		return f
	})
}

// hopeless has the server deny every command of one kind.
func (k *kit) hopeless(op string) {
	k.faults(func(o string) fault { return fault{denied: o == op} })
}

var errRefused = &net.OpError{Op: "dial", Err: errors.New("connection refused")}

var errDenied = reply("OOM command not allowed when used memory > 'maxmemory'.")

var errUnknown = reply("ERR unknown command 'EVALSHA'")

var errMute = reply("NOPERM No permissions to access a channel")

// A reply is an error that the server has answered.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// ops says which operation the hash of a script stands for.
var ops = func() map[any]string {
	s := baselock.Subject{Key: name, Owner: "owner"}
	ops := map[any]string{
		hash(plain.Acquire(s)): "acquire", hash(plain.Queue.Enqueue(s, nil, time.Second, false)): "acquire",
		hash(plain.Queue.HandOff(s, row.Turn{})): "release", hash(plain.Queue.HandOff(s, row.Turn{Next: "next"})): "release",
		hash(plain.Atomic(s, s)): "handover",
		hash(plain.Recount(s)):   "recount", hash(plain.Force(s)): "force", hash(plain.Status(s)): "query",
		hash(plain.Renew([]scripts.Renewal{{Key: name, Owner: "owner"}})): "renew",
	}
	return ops
}()

func hash[R any](c scripts.Command[R]) any { return c.Cmder(context.Background(), false).Args()[1] }

// op tells which script a command runs.
func op(cmd redis.Cmder) string {
	if cmd.Name() != "evalsha" {
		return cmd.Name()
	}
	return ops[cmd.Args()[1]]
}

// passedOn tells whether a release answers that another process has the lock.
func passedOn(cmd redis.Cmder) bool {
	var outcome any
	switch cmd := cmd.(type) {
	case interface{ Val() int64 }:
		outcome = cmd.Val()
	case interface{ Val() []any }:
		if len(cmd.Val()) > 0 {
			outcome = cmd.Val()[0]
		}
	}
	return outcome == int64(5)
}

// process is what happens to a command on its way to the server.
func (k *kit) process(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	k.mu.Lock()
	kind := op(cmd)
	k.counts[kind]++
	var f fault
	if k.plan != nil {
		f = k.plan(kind)
	}
	k.mu.Unlock()
	time.Sleep(f.before)
	err := io.ErrUnexpectedEOF
	switch {
	case f.refused:
		cmd.SetErr(errRefused)
		return errRefused
	case f.panics:
		panic("a hook of the client")
	case f.denied:
		cmd.SetErr(errDenied)
		return errDenied
	case f.unknown:
		cmd.SetErr(errUnknown)
		return errUnknown
	case f.ghost > 0:
		args := cmd.Args()
		go func() {
			time.Sleep(f.ghost)
			_ = k.honest.Do(context.Background(), args...).Err() // nobody is there to hear it
		}()
		cmd.SetErr(err)
		return err
	}
	executed := next(ctx, cmd)
	if kind == "release" && passedOn(cmd) {
		k.mu.Lock()
		k.passed++
		k.mu.Unlock()
	}
	time.Sleep(f.after)
	if f.dies {
		panic("a hook of the client")
	}
	if f.mute {
		cmd.SetErr(errMute)
		return errMute
	}
	if f.lost {
		cmd.SetErr(err)
		return err
	}
	return executed
}

// The hook of the client library.

func (k *kit) DialHook(next redis.DialHook) redis.DialHook { return next }

func (k *kit) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return k.process(ctx, cmd, next) }
}

// ProcessPipelineHook sends the commands of a pipeline one by one, so that each can have a fault of its own.
func (k *kit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (first error) {
		for _, cmd := range cmds {
			err := k.process(ctx, cmd, func(ctx context.Context, cmd redis.Cmder) error {
				return next(ctx, []redis.Cmder{cmd})
			})
			if first == nil {
				first = err
			}
		}
		return first
	}
}
