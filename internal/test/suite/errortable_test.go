package suite_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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

// A trouble is a situation in which a call may be made: what a command meets, in a server's or the client library's words.
type trouble struct {
	name   string
	err    error
	after  time.Duration // how long the error takes; without an error, the answer
	lost   bool          // the command is executed, and its answer lost
	outage bool          // no cell may match ErrNotAcquired
	within time.Duration // the context of the call ends; 0: the column says when
}

// words are an error of a server.
type words string

func (w words) Error() string { return string(w) }
func (words) RedisError()     {}

func dialed(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

var noAnswer = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}

var troubles = []trouble{
	{name: "taken, too few permits, closed"},
	{name: "connection refused", err: dialed(syscall.ECONNREFUSED), outage: true},
	{name: "a silent server", err: noAnswer, after: 3 * time.Second, outage: true},
	{name: "dropped replies", err: noAnswer, after: 3 * time.Second, lost: true, outage: true},
	{name: "no answer, and ctx ends", after: time.Minute, within: time.Second, outage: true},
	{name: "LOADING", err: words("LOADING Redis is loading the dataset in memory"), outage: true},
	{name: "READONLY", err: words("READONLY You can't write against a read only replica."), outage: true},
	{name: "MOVED, and the client is none of a cluster's", err: words("MOVED 3999 10.0.0.1:7000")},
	{name: "MASTERDOWN", err: words("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), outage: true},
	{name: "CLUSTERDOWN", err: words("CLUSTERDOWN The cluster is down"), outage: true},
	{name: "pool exhausted", err: redis.ErrPoolTimeout, outage: true},
	{name: "NOAUTH", err: words("NOAUTH Authentication required."), outage: true},
	{name: "NOPERM", err: words("NOPERM User default has no permissions to run the 'evalsha' command"), outage: true},
	{name: "WRONGPASS", err: words("WRONGPASS invalid username-password pair or user is disabled."), outage: true},
	{name: "OOM", err: words("OOM command not allowed when used memory > 'maxmemory'."), outage: true},
	{name: "MISCONF", err: words("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."), outage: true},
	{name: "the client is closed", err: redis.ErrClosed, outage: true},
	{name: "WRONGTYPE", err: words("WRONGTYPE Operation against a key holding the wrong kind of value")},
}

// A troubler has the commands of a client meet what happens at the moment.
type troubler struct{ now atomic.Pointer[trouble] }

func (h *troubler) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *troubler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.meet([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (h *troubler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.meet(cmds, func() error { return next(ctx, cmds) })
	}
}

func (h *troubler) meet(cmds []redis.Cmder, next func() error) error {
	t := h.now.Load()
	if t == nil || slices.Contains([]string{"hello", "client"}, cmds[0].Name()) { // those of a new connection
		return next()
	}
	if t.lost {
		_ = next()
	}
	time.Sleep(t.after)
	if t.err == nil {
		return next()
	}
	for _, cmd := range cmds {
		cmd.SetErr(t.err)
	}
	return t.err
}

// A cell is the call of one primitive: waiting, and trying where there is such a form.
type cell struct {
	name   string
	wait   func(ctx context.Context, opts ...redlatch.Option) error
	try    func(ctx context.Context) error
	occupy func(ctx context.Context, rdb *redis.Client) (free func() error, err error) // takes it by another client
}

func cells(rdb *redis.Client, opts ...redlatch.Option) []cell {
	locker := func(name string, l redlatch.Locker, other func(rdb *redis.Client) redlatch.Locker) cell {
		return cell{name,
			func(ctx context.Context, opts ...redlatch.Option) error { _, err := l.Lock(ctx, opts...); return err },
			func(ctx context.Context) error { _, err := l.TryLock(ctx); return err },
			func(ctx context.Context, rdb *redis.Client) (func() error, error) {
				hold, err := other(rdb).Lock(ctx, redlatch.WithLease(time.Hour))
				return func() error { return hold.Unlock(ctx) }, err
			}}
	}
	plain := func(name string) func(*redis.Client) redlatch.Locker {
		return func(rdb *redis.Client) redlatch.Locker { return rlock.New(rdb, name) }
	}
	s, p, l := semaphore.New(rdb, "semaphore", opts...), permitsemaphore.New(rdb, "permits", opts...), countdownlatch.New(rdb, "latch", opts...)
	servers := []redlatch.Client{rdb}
	return []cell{
		locker("rlock", rlock.New(rdb, "rlock", opts...), plain("rlock")),
		locker("fairlock", fairlock.New(rdb, "fair", opts...), func(rdb *redis.Client) redlatch.Locker { return fairlock.New(rdb, "fair") }),
		locker("rwlock, to write", rwlock.New(rdb, "rw", opts...).Writer(), func(rdb *redis.Client) redlatch.Locker { return rwlock.New(rdb, "rw").Writer() }),
		locker("rwlock, to read", rwlock.New(rdb, "rw2", opts...).Reader(), func(rdb *redis.Client) redlatch.Locker { return rwlock.New(rdb, "rw2").Writer() }),
		locker("spinlock", spinlock.New(rdb, "spin", opts...), func(rdb *redis.Client) redlatch.Locker { return spinlock.New(rdb, "spin") }),
		locker("fencedlock", fencedlock.New(rdb, "fenced", opts...), func(rdb *redis.Client) redlatch.Locker { return fencedlock.New(rdb, "fenced") }),
		locker("multilock", multilock.New([]redlatch.Locker{rlock.New(rdb, "m1", opts...), rlock.New(rdb, "m2", opts...)}, opts...), plain("m1")),
		locker("group", multilock.NewGroup(rdb, "group", []string{"a", "b"}, opts...), func(rdb *redis.Client) redlatch.Locker {
			return multilock.NewGroup(rdb, "group", []string{"a"})
		}),
		locker("redlock", redlock.New(servers, "red", append(opts, redlatch.WithOutage(2*time.Second))...), plain("red")),
		{"semaphore",
			func(ctx context.Context, opts ...redlatch.Option) error { return s.Acquire(ctx, 1, opts...) },
			func(ctx context.Context) error {
				return s.TryAcquire(ctx, 1)
			},
			unoccupied},
		{"permitsemaphore",
			func(ctx context.Context, opts ...redlatch.Option) error {
				_, err := p.Acquire(ctx, 1, opts...)
				return err
			},
			func(ctx context.Context) error { _, err := p.TryAcquire(ctx, 1); return err },
			unoccupied},
		{"countdownlatch", func(ctx context.Context, opts ...redlatch.Option) error { return l.Await(ctx, opts...) }, nil,
			func(ctx context.Context, rdb *redis.Client) (func() error, error) {
				_, err := countdownlatch.New(rdb, "latch").TrySetCount(ctx, 1)
				return func() error { return nil }, err
			}},
	}
}

// unoccupied takes nothing: without permits these calls have to wait anyway.
func unoccupied(context.Context, *redis.Client) (func() error, error) {
	return func() error { return nil }, nil
}

// sentinels are what a cell is said to match.
var sentinels = []struct {
	name string
	err  error
}{
	{"ErrNotAcquired", redlatch.ErrNotAcquired}, {"ErrUnavailable", redlatch.ErrUnavailable}, {"ErrInvalid", redlatch.ErrInvalid},
	{"ErrUncertain", redlatch.ErrUncertain}, {"ErrLost", redlatch.ErrLost}, {"context.DeadlineExceeded", context.DeadlineExceeded},
}

func matches(err error) string {
	if err == nil {
		return "nil"
	}
	var all []string
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			all = append(all, "`"+s.name+"`")
		}
	}
	return strings.Join(all, ", ")
}

// callForms are the columns of the table.
var callForms = []struct {
	name string
	make func(ctx context.Context, c cell) error
}{
	{"`Try…`", func(ctx context.Context, c cell) error { return c.try(ctx) }},
	{"`WithWait(0)`", func(ctx context.Context, c cell) error { return c.wait(ctx, redlatch.WithWait(0)) }},
	{"`WithWait(5*time.Second)`", func(ctx context.Context, c cell) error { return c.wait(ctx, redlatch.WithWait(5*time.Second)) }},
	{"ctx with a deadline", func(ctx context.Context, c cell) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return c.wait(ctx)
	}},
}

// TestTheTableOfErrors makes every call of every primitive in every situation, and compares what its error matches with
// docs/errors.md. REDLATCH_WRITE_DOCS=1 writes the table.
func TestTheTableOfErrors(t *testing.T) {
	unused := redis.NewClient(&redis.Options{Addr: "nowhere"})
	all := cells(unused)
	require.NoError(t, unused.Close())
	table := map[string]map[string]map[string][]string{} // situation, call, matches: primitives
	for _, trouble := range troubles {
		for _, call := range callForms {
			for _, primitive := range all {
				if primitive.try == nil && call.name == "`Try…`" {
					continue
				}
				got := inTrouble(t, trouble, primitive.name, call.make)
				if trouble.outage {
					require.NotContains(t, got, "ErrNotAcquired", "%s, %s, %s", trouble.name, call.name, primitive.name)
				}
				if table[trouble.name] == nil {
					table[trouble.name] = map[string]map[string][]string{}
				}
				if table[trouble.name][call.name] == nil {
					table[trouble.name][call.name] = map[string][]string{}
				}
				table[trouble.name][call.name][got] = append(table[trouble.name][call.name][got], primitive.name)
			}
		}
	}
	text := render(table)
	const begin, end = "<!-- table of errors: begin -->\n", "<!-- table of errors: end -->"
	docs, err := os.ReadFile("../../../docs/errors.md")
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(docs), begin)
	require.True(t, found)
	old, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if os.Getenv("REDLATCH_WRITE_DOCS") != "" {
		require.NoError(t, os.WriteFile("../../../docs/errors.md", []byte(before+begin+text+end+after), 0o644))
		return
	}
	require.Equal(t, text, old, "docs/errors.md is to be written again, with REDLATCH_WRITE_DOCS=1")
}

// inTrouble is what the error of one call matches.
func inTrouble(t *testing.T, met trouble, name string, call func(ctx context.Context, c cell) error) (got string) {
	redistest.Bubble(t, func(t *testing.T) {
		m, other := redistest.InMemory(t)
		options := redistest.InMemoryOptions(m)
		options.MaxRetries = -1
		rdb := redis.NewClient(options)
		t.Cleanup(func() { _ = rdb.Close() })
		hook := new(troubler)
		rdb.AddHook(hook)
		var c cell
		for _, c = range cells(rdb, redlatch.WithOutage(4*time.Second)) {
			if c.name == name {
				break
			}
		}
		free, err := c.occupy(t.Context(), other)
		defer func() { // also when the test fails: a bubble ends when all that is under way has ended
			hook.now.Store(nil)
			time.Sleep(5 * time.Minute) // what is in doubt is settled
			require.NoError(t, free())
			time.Sleep(time.Minute)
		}()
		require.NoError(t, err)
		if met.err != nil || met.after > 0 {
			hook.now.Store(&met)
		}
		ctx := t.Context()
		if met.within > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, met.within)
			defer cancel()
		}
		err = call(ctx, c)
		if said := matches(err); met.err != nil && (strings.Contains(said, "ErrUnavailable") || strings.Contains(said, "ErrInvalid")) && name != "redlock" {
			require.ErrorContains(t, err, met.err.Error(), "it carries the cause")
		}
		if err != nil {
			require.Equal(t, 1, strings.Count(err.Error(), "redlatch: "), "the text of one error, and not of several: %v", err)
		}
		got = matches(err)
	})
	return got
}

// A server that takes no writes for 3 s is waited for. What an operator has to put right is told at once.
func TestAWaitOutlastsWhatPassesAndNotWhatIsWrong(t *testing.T) {
	unused := redis.NewClient(&redis.Options{Addr: "nowhere"})
	all := cells(unused)
	require.NoError(t, unused.Close())
	for name, passes := range map[string]bool{
		"READONLY": true, "LOADING": true, "MASTERDOWN": true, "CLUSTERDOWN": true, "OOM": true, "MISCONF": true,
		"NOAUTH": false, "NOPERM": false, "WRONGPASS": false, "MOVED, and the client is none of a cluster's": false,
	} {
		met := troubles[slices.IndexFunc(troubles, func(t trouble) bool { return t.name == name })]
		for _, primitive := range all {
			if primitive.name == "countdownlatch" { // it reads, and a server that is full serves that
				continue
			}
			t.Run(name+"/"+primitive.name, func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					m, other := redistest.InMemory(t)
					options := redistest.InMemoryOptions(m)
					options.MaxRetries = -1
					rdb := redis.NewClient(options)
					t.Cleanup(func() { _ = rdb.Close() })
					hook := new(troubler)
					rdb.AddHook(hook)
					opts := []redlatch.Option{redlatch.WithOutage(4 * time.Second)}
					if primitive.name != "semaphore" {
						opts = append(opts, redlatch.WithLease(time.Minute))
					}
					_, err := semaphore.New(other, "semaphore").TrySetPermits(t.Context(), 1)
					require.NoError(t, err)
					_, err = permitsemaphore.New(other, "permits").TrySetPermits(t.Context(), 1)
					require.NoError(t, err)
					of := cells(rdb)
					c := of[slices.IndexFunc(of, func(c cell) bool { return c.name == primitive.name })]
					defer time.Sleep(5 * time.Minute) // also when the test fails: what is under way ends
					start := time.Now()
					hook.now.Store(&met)
					time.AfterFunc(3*time.Second, func() { hook.now.Store(nil) })
					err = c.wait(t.Context(), opts...)
					if passes {
						require.NoError(t, err)
						require.GreaterOrEqual(t, time.Since(start), 3*time.Second)
						require.LessOrEqual(t, time.Since(start), 3800*time.Millisecond, "three quarters of a second are between two questions, at most")
					} else {
						require.Equal(t, met.outage, errors.Is(err, redlatch.ErrUnavailable))
						require.Equal(t, !met.outage, errors.Is(err, redlatch.ErrInvalid), "%v", err)
						require.ErrorContains(t, err, met.err.Error())
						require.Less(t, time.Since(start), time.Second)
					}
				})
			})
		}
	}
}

// render groups the cells that are equal: a row for each situation, and what most primitives do before the exceptions.
func render(table map[string]map[string]map[string][]string) string {
	var text strings.Builder
	text.WriteString("| situation |")
	for _, call := range callForms {
		text.WriteString(" " + call.name + " |")
	}
	text.WriteString("\n|" + strings.Repeat("---|", len(callForms)+1) + "\n")
	for _, trouble := range troubles {
		text.WriteString("| " + trouble.name + " |")
		for _, call := range callForms {
			var kinds []string
			for kind := range table[trouble.name][call.name] {
				kinds = append(kinds, kind)
			}
			cell := table[trouble.name][call.name]
			sort.Slice(kinds, func(i, j int) bool {
				if a, b := len(cell[kinds[i]]), len(cell[kinds[j]]); a != b {
					return a > b
				}
				return kinds[i] < kinds[j]
			})
			for i, kind := range kinds {
				if i > 0 {
					fmt.Fprintf(&text, "; %s: ", strings.Join(cell[kind], ", "))
				} else {
					text.WriteString(" ")
				}
				text.WriteString(kind)
			}
			text.WriteString(" |")
		}
		text.WriteString("\n")
	}
	return text.String()
}
