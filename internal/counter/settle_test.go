package counter_test

import (
	"context"
	"errors"
	"github.com/redlatch/redlatch/internal/observe"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// faults is a hook of a client: while lost is set, scripts are executed and their replies are not heard; while gone is
// set, they are not even executed, which nobody can know.
type faults struct {
	lost, gone atomic.Bool
	refused    atomic.Bool  // they do not leave, and the client knows
	after      atomic.Int64 // how long it takes to find out that a reply is lost
	sent       atomic.Int64
}

var errRefused = &net.OpError{Op: "dial", Err: errors.New("connection refused")}

var errLost = &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}

func (*faults) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *faults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "eval" && cmd.Name() != "evalsha" {
			return next(ctx, cmd)
		}
		f.sent.Add(1)
		if f.refused.Load() {
			cmd.SetErr(errRefused)
			return errRefused
		}
		if f.gone.Load() {
			cmd.SetErr(errLost)
			return errLost
		}
		err := next(ctx, cmd)
		if f.lost.Load() && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			time.Sleep(time.Duration(f.after.Load()))
			cmd.SetErr(errLost)
			return errLost
		}
		return err
	}
}

func (f *faults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A lab is a counter on fake time with 5 in it.
type lab struct {
	*testing.T
	counter *counter.Counter
	faults  *faults
	redis   *redis.Client // without faults

	mu      sync.Mutex
	settled []redlatch.Event
	log     text
}

func inLab(t *testing.T, test func(l *lab), opts ...redlatch.Option) {
	t.Helper()
	redistest.Bubble(t, func(t *testing.T) {
		m, client := redistest.InMemory(t)
		l := &lab{T: t, faults: &faults{}, redis: redis.NewClient(redistest.InMemoryOptions(m))}
		t.Cleanup(func() { _ = l.redis.Close() })
		require.NoError(t, l.redis.Set(t.Context(), "c", 5, 0).Err())
		client.AddHook(l.faults)
		l.counter = counter.New(client, "c", "counter", keys.SemaphoreChannel, 0, append([]redlatch.Option{
			briefly.Linger(0), redlatch.WithOutage(time.Second), redlatch.WithReleaseTimeout(time.Second),
			redlatch.WithLogger(slog.New(slog.NewTextHandler(&l.log, nil))),
			redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
				if e.Kind == redlatch.EventSettled {
					l.mu.Lock()
					l.settled = append(l.settled, e)
					l.mu.Unlock()
				}
			})),
		}, opts...))
		test(l)
		synctest.Wait()
	})
}

func (l *lab) add(d int64) (int64, error) {
	return counter.Change(l.Context(), l.counter, func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
		return semaphore.Add(l.counter.Key, d, wake, call)
	})
}

func (l *lab) giveBack(n int64) (int64, error) {
	return counter.GiveBack(l.Context(), l.counter, func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
		return semaphore.Add(l.counter.Key, n, wake, call)
	})
}

func (l *lab) acquire(n int64) error {
	set, err := l.counter.Resolve("acquire", settings.Wait, nil)
	require.NoError(l, err)
	return l.counter.Acquire(l.Context(), set, n, &seeker{l.counter.Key, n}, false)
}

// A seeker is the semaphore's.
type seeker struct {
	key string
	n   int64
}

func (s *seeker) Begin(int64, *lane.Size) counter.Attempt { return s }
func (s *seeker) Spare(int64)                             {}
func (s *seeker) Abandon()                                {}
func (s *seeker) Owner() string                           { return "" }
func (s *seeker) Told(*observe.Hold)                      {}
func (s *seeker) Receive(any)                             {}
func (s *seeker) Unstored() time.Duration                 { return 0 }
func (s *seeker) Announces() bool                         { return false }
func (s *seeker) Took(time.Time) error                    { return nil }

func (s *seeker) Take(_ scripts.Wake, _ row.Candidate, call lane.Call) scripts.Command[lane.Granted] {
	return semaphore.Acquire(s.key, s.n, call)
}

func (s *seeker) Undo(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return semaphore.CancelAcquire(s.key, s.n, wake, call)
}

func (l *lab) has(want string) {
	l.Helper()
	require.Equal(l, want, l.redis.Get(l.Context(), "c").Val())
}

func (l *lab) settledOnce() redlatch.Event {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Len(l, l.settled, 1)
	return l.settled[0]
}

func TestAnAcquisitionInDoubtIsUndoneWhenTheServerIsHeardAgain(t *testing.T) {
	for name, executed := range map[string]bool{"it was executed": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				l.faults.lost.Store(true)
				l.faults.gone.Store(!executed)
				require.ErrorIs(t, l.acquire(2), errLost)
				time.Sleep(30 * time.Second)
				require.Empty(t, l.settled)
				l.faults.lost.Store(false)
				l.faults.gone.Store(false)
				time.Sleep(4 * time.Second) // a pause and an attempt at most
				l.has("5")
				require.NoError(t, l.settledOnce().Err)
			})
		})
	}
}

func TestAReleaseInDoubtIsCarriedThroughWhenTheServerIsHeardAgain(t *testing.T) {
	for name, executed := range map[string]bool{"it was executed": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				l.faults.lost.Store(true)
				l.faults.gone.Store(!executed)
				start := time.Now()
				_, err := l.giveBack(2)
				require.ErrorIs(t, err, redlatch.ErrUncertain)
				require.ErrorIs(t, err, errLost)
				require.LessOrEqual(t, time.Since(start), time.Second)
				time.Sleep(30 * time.Second)
				l.faults.lost.Store(false)
				l.faults.gone.Store(false)
				time.Sleep(4 * time.Second)
				l.has("7")
				require.NoError(t, l.settledOnce().Err)
			})
		})
	}
}

func TestAChangeInDoubtIsFencedAndNotCarriedThrough(t *testing.T) {
	inLab(t, func(l *lab) {
		l.faults.gone.Store(true)
		_, err := l.add(2)
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		time.Sleep(30 * time.Second)
		l.faults.gone.Store(false)
		time.Sleep(4 * time.Second)
		l.has("5")
		require.NoError(t, l.settledOnce().Err)
	})
}

// The server forgets an operation two minutes after it. What could not be settled by then is left and said.
func TestSettlingEndsWhileTheServerStillRemembersAndSaysWhatIsLeftOpen(t *testing.T) {
	inLab(t, func(l *lab) {
		l.faults.lost.Store(true)
		_, err := l.giveBack(2)
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		require.Empty(t, l.log.String())
		start := time.Now()
		time.Sleep(105 * time.Second)
		event := l.settledOnce()
		require.ErrorIs(t, event.Err, errLost)
		require.LessOrEqual(t, event.Duration, 100*time.Second+settleSlack)
		require.GreaterOrEqual(t, event.Duration, 90*time.Second)
		require.Contains(t, l.log.String(), "lock.name=c")
		require.Less(t, time.Since(start), 2*time.Minute)
		sent := l.faults.sent.Load()
		l.faults.lost.Store(false)
		time.Sleep(10 * time.Minute)
		require.Equal(t, sent, l.faults.sent.Load(), "sent when the server has forgotten, it would count twice")
		l.has("7")
	})
}

// settleSlack is what the last attempt may take beyond the limit: it begins before, and has retries of its own.
const settleSlack = 2 * time.Second

// A program may be more patient than the server's memory is long. What may have been executed is not sent again then.
func TestNothingIsSentAgainThatTheServerMayHaveForgotten(t *testing.T) {
	for name, run := range map[string]struct {
		do   func(l *lab) error
		want string
	}{
		"release": {func(l *lab) error { _, err := l.giveBack(2); return err }, "7"},
		"change":  {func(l *lab) error { _, err := l.add(2); return err }, "7"},
		"acquire": {func(l *lab) error { return l.acquire(2) }, "5"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				l.faults.lost.Store(true)
				require.ErrorIs(t, run.do(l), errLost)
				l.faults.lost.Store(false)
				time.Sleep(10 * time.Minute)
				l.has(run.want)
				require.NoError(t, l.settledOnce().Err)
			}, redlatch.WithOutage(5*time.Minute), redlatch.WithReleaseTimeout(5*time.Minute))
		})
	}
}

// So may its client be, whose command is under way for as long as it waits for the reply.
func TestSettlingDoesNotWaitForACommandThatHangsUntilTheServerHasForgottenIt(t *testing.T) {
	for name, run := range map[string]struct {
		do   func(l *lab, ctx context.Context) error
		want string
	}{
		"release": {func(l *lab, _ context.Context) error { _, err := l.giveBack(2); return err }, "7"},
		"acquire": {func(l *lab, ctx context.Context) error {
			set, err := l.counter.Resolve("acquire", settings.Wait, nil)
			require.NoError(l, err)
			return l.counter.Acquire(ctx, set, 2, &seeker{l.counter.Key, 2}, false)
		}, "5"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				_, err := l.add(0)
				require.NoError(l, err)
				time.Sleep(2 * time.Second)
				l.faults.after.Store(int64(5 * time.Minute))
				l.faults.lost.Store(true)
				ctx, cancel := context.WithTimeout(l.Context(), time.Second)
				defer cancel()
				require.Error(t, run.do(l, ctx))
				l.faults.lost.Store(false)
				time.Sleep(10 * time.Minute)
				l.has(run.want)
				require.NoError(t, l.settledOnce().Err)
			})
		})
	}
}

// A caller who does not leave such a command learns of its failure when nobody can find out any more what became of it.
func TestWhatTheServerMayHaveForgottenIsLeftAndSaid(t *testing.T) {
	for name, run := range map[string]struct {
		do   func(l *lab) error
		want string
	}{
		"release": {func(l *lab) error { _, err := l.giveBack(2); return err }, "7"},
		"acquire": {func(l *lab) error { return l.acquire(2) }, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				l.faults.after.Store(int64(5 * time.Minute))
				l.faults.lost.Store(true)
				time.AfterFunc(time.Minute, func() { l.faults.lost.Store(false) })
				require.ErrorIs(t, run.do(l), errLost)
				time.Sleep(10 * time.Minute)
				l.has(run.want)
				require.ErrorContains(t, l.settledOnce().Err, "may have forgotten")
				require.Contains(t, l.log.String(), "could not be settled")
			}, redlatch.WithReleaseTimeout(10*time.Minute))
		})
	}
}

// While a lane is not settled nobody else is lent it, so that the settling does not bar somebody else's operation.
func TestALaneInDoubtIsLentToNobody(t *testing.T) {
	inLab(t, func(l *lab) {
		l.faults.gone.Store(true)
		_, err := l.add(2)
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		call := l.counter.Session.BorrowLane("c")
		require.Equal(t, int64(1), call.Lane)
		l.counter.Session.ReturnLane("c", call)
		l.faults.gone.Store(false)
		time.Sleep(4 * time.Second)
		call = l.counter.Session.BorrowLane("c")
		require.Equal(t, int64(0), call.Lane)
		l.counter.Session.ReturnLane("c", call)
	})
}

func TestAClosedClientEndsTheSettlingQuietly(t *testing.T) {
	inLab(t, func(l *lab) {
		l.faults.lost.Store(true)
		_, err := l.giveBack(2)
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		l.faults.lost.Store(false)
		require.NoError(t, l.counter.Session.Client.(*redis.Client).Close())
		time.Sleep(4 * time.Second)
		require.ErrorIs(t, l.settledOnce().Err, redis.ErrClosed)
		require.Empty(t, l.log.String())
	})
}

// A name in braces of its own puts the latch's channel into another slot, and a cluster with sharded channels refuses
// the script.
func TestAChannelInAnotherSlotIsRefusedWhereChannelsAreSharded(t *testing.T) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer client.Close()
	require.NoError(t, redlatch.Configure(client, redlatch.WithShardedPubSub(true)))
	for _, c := range []struct {
		name    string
		channel func(string) string
		fits    bool
	}{
		{"l", keys.LatchChannel, true},
		{"{a}b", keys.SemaphoreChannel, true},
		{"{a}b", keys.LatchChannel, false},
	} {
		made := counter.New(client, c.name, "latch", c.channel, 0, nil)
		wake, err := made.Wake(t.Context())
		if !c.fits {
			require.ErrorIs(t, err, errs.Invalid)
			require.ErrorContains(t, err, "choose a name without")
			set, err := made.Resolve("Await", 0, nil)
			require.NoError(t, err)
			absent := func(context.Context) (counter.Sight, error) { return counter.Sight{Open: true}, nil }
			require.ErrorIs(t, made.Await(t.Context(), set, absent), errs.Invalid, "as if it were open")
			_, err = counter.Query(t.Context(), made, lane.Read(made.Key))
			require.ErrorIs(t, err, errs.Invalid)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, scripts.Wake{Publish: "SPUBLISH", Channel: c.channel(c.name)}, wake)
	}
}
