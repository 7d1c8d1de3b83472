package suite_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// A heldThing is a hold or a permit.
type heldThing struct {
	context func(context.Context) context.Context
	unlock  func(context.Context) error
}

// holders make each kind of hold, of "name" or, of composites, of that and others.
var holders = map[string]func(t *testing.T, clients []redlatch.Client, opts ...redlatch.Option) heldThing{
	"lock": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker { return rlock.New(c[0], "name", o...) }),
	"fair": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker {
		return fairlock.New(c[0], "name", o...)
	}),
	"fenced": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker {
		return fencedlock.New(c[0], "name", o...)
	}),
	"spin": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker {
		return spinlock.New(c[0], "name", o...)
	}),
	"write": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker {
		return rwlock.New(c[0], "name", o...).Writer()
	}),
	"read": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker {
		return rwlock.New(c[0], "name", o...).Reader()
	}),
	"group": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker {
		return multilock.NewGroup(c[0], "name", []string{"a", "b"}, o...)
	}),
	"multilock": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker {
		return multilock.New([]redlatch.Locker{rlock.New(c[0], "other", o...), rlock.New(c[0], "name", o...)}, o...)
	}),
	"multilock of a redlock": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker {
		return multilock.New([]redlatch.Locker{rlock.New(c[0], "other", o...), redlock.New(c, "name", o...)}, o...)
	}),
	"redlock": lockerOf(func(c []redlatch.Client, o []redlatch.Option) redlatch.Locker { return redlock.New(c, "name", o...) }),
	"permit": func(t *testing.T, clients []redlatch.Client, opts ...redlatch.Option) heldThing {
		s := permitsemaphore.New(clients[0], "name", opts...)
		_, err := s.TrySetPermits(t.Context(), 3)
		require.NoError(t, err)
		permit, err := s.Acquire(t.Context(), 2)
		require.NoError(t, err)
		return heldThing{permit.Context, permit.Release}
	},
}

func lockerOf(lock func([]redlatch.Client, []redlatch.Option) redlatch.Locker) func(*testing.T, []redlatch.Client, ...redlatch.Option) heldThing {
	return func(t *testing.T, clients []redlatch.Client, opts ...redlatch.Option) heldThing {
		hold, err := lock(clients, opts).Lock(t.Context())
		require.NoError(t, err)
		return heldThing{hold.Context, hold.Unlock}
	}
}

// asks counts what a client asks: INFO, and the notices that are read by a script of their own. It can be
// told to block those.
type asks struct {
	mu            sync.Mutex
	info, notices int
	evals         int
	block         chan struct{}
}

func (a *asks) see(cmds ...redis.Cmder) {
	a.mu.Lock()
	block := a.block
	blocked := false
	for _, cmd := range cmds {
		switch args := cmd.Args(); {
		case cmd.Name() == "info":
			a.info++
			blocked = true
		case cmd.Name() == "evalsha":
			a.evals++
			if len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "redlatch_forced") {
				a.notices++
				blocked = true
			}
		}
	}
	a.mu.Unlock()
	if blocked && block != nil {
		<-block
	}
}

func (a *asks) counts() (info, notices, evals int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.info, a.notices, a.evals
}

func (a *asks) DialHook(next redis.DialHook) redis.DialHook { return next }
func (a *asks) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { a.see(cmd); return next(ctx, cmd) }
}

func (a *asks) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { a.see(cmds...); return next(ctx, cmds) }
}

func (p *page) logger() *slog.Logger { return slog.New(slog.NewTextHandler(p, nil)) }

// servers are those that the kind needs, and clients of them that count what they ask.
func serversFor(t *testing.T, kind string) (srvs []*redistest.Server, clients []redlatch.Client, asked []*asks) {
	n := 1
	if strings.Contains(kind, "redlock") {
		n = 3
	}
	for range n {
		srv, a := redistest.Process(t), &asks{}
		client := srv.Client(t)
		client.AddHook(a)
		srvs, clients, asked = append(srvs, srv), append(clients, client), append(asked, a)
	}
	return srvs, clients, asked
}

// force frees "name" from all its holders, on all of the servers.
func force(t *testing.T, srvs []*redistest.Server) {
	t.Helper()
	for _, srv := range srvs {
		admin := srv.Client(t)
		object, err := fleet.Get(t.Context(), admin, fleet.Detect, "name")
		require.NoError(t, err)
		if len(object.Holders) == 0 && len(srvs) > 1 { // a redlock has what a majority grants
			continue
		}
		require.NotEmpty(t, object.Holders)
		freed, err := object.Holders[0].Free(t.Context(), fleet.Notice{Who: "ada@ops-1", Why: "the import hangs"})
		require.NoError(t, err)
		require.True(t, freed)
	}
}

// The renewal that finds nothing brings the notice. The context has ended by then, and its cause does not
// have it.
func TestARenewalThatFindsNothingBringsWhoHasForcedIt(t *testing.T) {
	t.Parallel()
	for kind, acquire := range holders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			srvs, clients, asked := serversFor(t, kind)
			var log page
			held := acquire(t, clients, redlatch.WithWatchdogTimeout(3*time.Second), redlatch.WithLogger(log.logger()))
			work := held.context(t.Context())
			force(t, srvs)
			<-work.Done()
			var cause, loss *redlatch.LossError
			require.ErrorAs(t, context.Cause(work), &cause)
			require.NotContains(t, cause.Error(), "ada@ops-1")
			err := held.unlock(t.Context())
			require.ErrorAs(t, err, &loss)
			require.Regexp(t, `^ada@ops-1 at \d\d:\d\d:\d\d: the import hangs$`, loss.Forced)
			require.Equal(t, 1, strings.Count(err.Error(), "it was freed by force by ada@ops-1"), err)
			redistest.Eventually(t, "the log has it", func() bool { return strings.Contains(log.String(), `forced="ada@ops-1 at `) })
			for _, a := range asked {
				info, notices, _ := a.counts()
				require.Zero(t, info)
				if strings.Contains(kind, "redlock") { // Unlock may come before the renewal at the third server
					notices--
				}
				require.LessOrEqual(t, notices, 0, "it has come with the renewal")
			}
		})
	}
}

// The release that finds nothing is told why before Unlock returns.
func TestAnUnlockThatFindsNothingSaysWhoHasForcedIt(t *testing.T) {
	t.Parallel()
	for kind, acquire := range holders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			srvs, clients, asked := serversFor(t, kind)
			held := acquire(t, clients)
			force(t, srvs)
			err := held.unlock(t.Context())
			var loss *redlatch.LossError
			require.ErrorAs(t, err, &loss)
			require.Regexp(t, `^ada@ops-1 at \d\d:\d\d:\d\d: the import hangs$`, loss.Forced)
			for _, a := range asked {
				info, notices, _ := a.counts()
				require.Zero(t, info, "the notice says it all")
				require.LessOrEqual(t, notices, 1)
			}
		})
	}
}

// A server that is started anew without the data is told as that, by one INFO, however many holds are lost.
func TestALossByARestartIsToldAsThat(t *testing.T) {
	t.Parallel()
	for kind, acquire := range holders {
		for found, timeout := range map[string]time.Duration{"renewal": 3 * time.Second, "Unlock": time.Hour} {
			t.Run(kind+" by "+found, func(t *testing.T) {
				t.Parallel()
				srvs, clients, asked := serversFor(t, kind)
				var log page
				held := acquire(t, clients, redlatch.WithWatchdogTimeout(timeout), redlatch.WithLogger(log.logger()))
				work := held.context(t.Context())
				time.Sleep(1100 * time.Millisecond) // the server counts in seconds
				for _, srv := range srvs {
					srv.Restart()
				}
				if found == "renewal" {
					<-work.Done()
				}
				err := held.unlock(t.Context())
				require.ErrorIs(t, err, redlatch.ErrLost)
				require.Regexp(t, `the server was restarted at about \d\d:\d\d:\d\d and does not have it any more`, err)
				require.NotContains(t, err.Error(), "by force")
				redistest.Eventually(t, "the log has it", func() bool { return strings.Contains(log.String(), "the server was restarted at about") })
				if cause := context.Cause(work); found == "renewal" {
					require.NotContains(t, cause.Error(), "restarted")
				}
				for _, a := range asked {
					info, _, _ := a.counts()
					require.LessOrEqual(t, info, 1)
				}
			})
		}
	}
}

func TestARestartIsNotToldToAUserWithoutTheRightToInfo(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	var asked asks
	client := srv.User(t, "-info")
	client.AddHook(&asked)
	hold, err := rlock.New(client, "name").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, srv.Client(t).FlushAll(t.Context()).Err())
	require.ErrorContains(t, hold.Unlock(t.Context()), "the key no longer names this owner")
	second, err := rlock.New(client, "name").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, srv.Client(t).FlushAll(t.Context()).Err())
	require.ErrorContains(t, second.Unlock(t.Context()), "the key no longer names this owner")
	info, _, _ := asked.counts()
	require.Equal(t, 1, info, "it is not asked again")
}

// What has deleted a lock left no notice, and the server was not restarted.
func TestADeletedLockIsToldAsTaken(t *testing.T) {
	t.Parallel()
	for kind, acquire := range holders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			srvs, clients, _ := serversFor(t, kind)
			held := acquire(t, clients, redlatch.WithWatchdogTimeout(3*time.Second))
			work := held.context(t.Context())
			for _, srv := range srvs {
				srv.Flush(t)
			}
			<-work.Done()
			err := held.unlock(t.Context())
			var loss *redlatch.LossError
			require.ErrorAs(t, err, &loss)
			require.Contains(t, []redlatch.LossReason{redlatch.ReasonTaken, redlatch.ReasonMembers}, loss.Reason)
			require.Empty(t, loss.Forced)
			require.NotContains(t, err.Error(), "restarted")
		})
	}
}

// However many holds are lost together, nothing is asked for each of them.
func TestALossOfAThousandHoldsAsksNothingForEach(t *testing.T) {
	const n = 1000
	for _, found := range []string{"renewal", "Unlock"} {
		t.Run("by "+found, func(t *testing.T) {
			srv, asked := redistest.Process(t), &asks{}
			client := srv.Client(t)
			client.AddHook(asked)
			timeout := 6 * time.Second
			if found == "Unlock" {
				timeout = time.Hour
			}
			all := make([]*redlatch.Hold, n)
			for i := range all {
				var err error
				all[i], err = rlock.New(client, fmt.Sprint("name", i), redlatch.WithWatchdogTimeout(timeout)).Lock(t.Context())
				require.NoError(t, err)
			}
			works := make([]context.Context, n)
			for i, hold := range all {
				works[i] = hold.Context(t.Context())
			}
			srv.Flush(t)
			if found == "renewal" {
				for _, work := range works {
					<-work.Done()
				}
			}
			_, _, before := asked.counts()
			var wg sync.WaitGroup
			for _, hold := range all {
				wg.Go(func() {
					if err := hold.Unlock(t.Context()); !redlatchLost(err) {
						t.Errorf("%v", err)
					}
				})
			}
			wg.Wait()
			info, notices, evals := asked.counts()
			t.Logf("%d INFO, %d scripts for notices, %d scripts of Unlock", info, notices, evals-before-notices)
			require.Equal(t, 1, info)
			require.LessOrEqual(t, evals-before-notices, n, "Unlock sends what it always sends")
			if found == "renewal" {
				require.Zero(t, notices)
			} else {
				require.Less(t, notices, n/4, "they are asked about together")
			}
		})
	}
}

func redlatchLost(err error) bool {
	loss, ok := err.(*redlatch.LossError)
	return ok && loss.Reason == redlatch.ReasonTaken
}

// A command that finds nothing asks for no notice while it has the send lock: what else the owner does goes
// on.
func TestNothingIsAskedUnderTheSendLock(t *testing.T) {
	t.Parallel()
	srv, asked := redistest.Process(t), &asks{block: make(chan struct{})}
	client := srv.Client(t)
	client.AddHook(asked)
	var log page
	lock := rlock.New(client, "name", redlatch.WithLogger(log.logger()))
	hold, err := lock.Lock(t.Context())
	require.NoError(t, err)
	work := hold.Context(t.Context())
	srv.Flush(t)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), redlatch.ErrLost)
	require.Error(t, work.Err())
	require.NotContains(t, log.String(), "lock lost", "it is not known yet why")
	close(asked.block)
	require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrLost)
	redistest.Eventually(t, "the log has it", func() bool { return strings.Contains(log.String(), "lock lost") })
}

// A user without the right to the notices keeps what it holds, and is told of a loss without them.
func TestAUserWithoutTheRightToNoticesLosesNoLock(t *testing.T) {
	t.Parallel()
	for kind, acquire := range holders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			srvs, _, _ := serversFor(t, kind)
			var clients []redlatch.Client
			for _, srv := range srvs {
				clients = append(clients, srv.User(t, "resetkeys", "~name*", "~other*", "~{name}*", "~{other}*", "~redisson_*", "~redlatch_[^f]*"))
			}
			held := acquire(t, clients, redlatch.WithWatchdogTimeout(2*time.Second))
			work := held.context(t.Context())
			for range 5 {
				time.Sleep(time.Second / 2)
				require.NoError(t, context.Cause(work), "it is renewed")
			}
			force(t, srvs)
			<-work.Done()
			require.ErrorIs(t, held.unlock(t.Context()), redlatch.ErrLost)
		})
	}
}
