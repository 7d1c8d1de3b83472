package permitsemaphore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// An outage is a hook of a client of a server that cannot be reached.
type outage struct {
	on      atomic.Bool
	begins  atomic.Bool // with the reply to the next script, which is lost
	heals   bool        // for one script after that
	never   atomic.Bool // the server refuses each script, and would always do so
	refused atomic.Int64
	panics  atomic.Bool // once
}

// A reply is an error that the server has answered.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

var errType = reply("WRONGTYPE Operation against a key holding the wrong kind of value")

var (
	errAway = &net.OpError{Op: "dial", Err: errors.New("no route to host")}
	errCut  = &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
)

func (*outage) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o *outage) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if o.panics.CompareAndSwap(true, false) {
			panic("a hook of the client")
		}
		if o.never.Load() {
			o.refused.Add(1)
			cmd.SetErr(errType)
			return errType
		}
		if o.on.Load() && o.heals {
			o.heals = false
			return next(ctx, cmd)
		}
		if o.on.Load() {
			o.refused.Add(1)
			cmd.SetErr(errAway)
			return errAway
		}
		err := next(ctx, cmd)
		if err == nil && o.begins.CompareAndSwap(true, false) {
			o.on.Store(true)
			cmd.SetErr(errCut)
			return errCut
		}
		return err
	}
}

func (*outage) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// apart is a semaphore of three permits on a server, and what can keep it from the server.
func apart(t *testing.T, opts ...redlatch.Option) (*permitsemaphore.Semaphore, *outage) {
	_, client := redistest.InMemory(t)
	o := &outage{}
	client.AddHook(o)
	s := permitsemaphore.New(client, "pool", append(opts, briefly.Linger(0))...)
	_, err := s.TrySetPermits(t.Context(), 3)
	require.NoError(t, err)
	return s, o
}

// The ids are never used again, so unlike a number that was to be added they can be given back however late it is.
func TestAReleaseOfPermitsIsOwedAsLongAsTheyLast(t *testing.T) {
	for what, lease := range map[string]redlatch.Option{
		"no lease": permitsemaphore.WithoutExpiry(), "a long lease": redlatch.WithLease(6 * time.Hour),
	} {
		t.Run(what, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				s, o := apart(t)
				p := acquire(t, s, 2, lease)
				o.on.Store(true)
				require.ErrorIs(t, p.Release(t.Context()), errAway)
				time.Sleep(time.Hour)
				o.on.Store(false)
				time.Sleep(5 * time.Second)
				left, err := s.AvailablePermits(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 3, left)
			})
		})
	}
}

// What the server will never execute is not repeated for as long as a permit lasts, which may be for ever.
func TestAReleaseOfPermitsThatTheServerWillNeverExecuteIsRepeatedForAMomentOnly(t *testing.T) {
	for what, lease := range map[string]redlatch.Option{
		"no lease": permitsemaphore.WithoutExpiry(), "a long lease": redlatch.WithLease(6 * time.Hour),
	} {
		t.Run(what, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				var log bytes.Buffer
				s, o := apart(t, redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				p := acquire(t, s, 2, lease)
				o.never.Store(true)
				var reply redis.Error
				require.ErrorAs(t, p.Release(t.Context()), &reply)
				time.Sleep(100 * time.Second)
				synctest.Wait()
				before := o.refused.Load()
				require.Equal(t, 1, strings.Count(log.String(), "could not be settled"), log.String())
				require.Contains(t, log.String(), id(p))
				require.Contains(t, log.String(), "use another name, or remove what nobody needs")
				time.Sleep(7 * time.Hour)
				synctest.Wait()
				require.Equal(t, before, o.refused.Load())
				require.Equal(t, 1, strings.Count(log.String(), "could not be settled"))
			})
		})
	}
}

// A permit without a lease never comes back by itself, but a server that is never reached again ends the attempts.
func TestAReleaseOfPermitsWithoutALeaseIsRepeatedForADay(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		s, o := apart(t, redlatch.WithReleaseTimeout(10*time.Millisecond)) // so that an attempt is one send
		p := acquire(t, s, 2, permitsemaphore.WithoutExpiry())
		o.on.Store(true)
		require.ErrorIs(t, p.Release(t.Context()), errAway)
		time.Sleep(24*time.Hour + time.Minute)
		before := o.refused.Load()
		time.Sleep(24 * time.Hour)
		require.Equal(t, before, o.refused.Load())
	})
}

// After that they have come back by themselves, and nothing is left to be done.
func TestAReleaseOfPermitsWhoseLeaseIsOverIsOwedNoLonger(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		s, o := apart(t)
		p := acquire(t, s, 2, redlatch.WithLease(10*time.Minute))
		o.on.Store(true)
		require.ErrorIs(t, p.Release(t.Context()), errAway)
		time.Sleep(10*time.Minute + 5*time.Second)
		before := o.refused.Load()
		time.Sleep(time.Hour)
		require.Equal(t, before, o.refused.Load())
	})
}

// For the same reason an acquisition that nobody waits for any more can be undone, although it was sent long ago.
func TestAnAcquisitionThatWasPatientForLongIsUndoneAllTheSame(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		s, o := apart(t, redlatch.WithOutage(time.Hour))
		require.NoError(t, acquire(t, s, 2).Release(t.Context())) // the server knows the scripts
		o.begins.Store(true)
		_, err := s.Acquire(t.Context(), 2, permitsemaphore.WithoutExpiry(), redlatch.WithWait(2*time.Minute))
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		require.ErrorIs(t, err, errAway)
		time.Sleep(30 * time.Second)
		o.on.Store(false)
		time.Sleep(5 * time.Second)
		left, err := s.AvailablePermits(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, left)
	})
}

// What was sent may have taken, or kept, permits that do not end by themselves, and the outage lasts for longer than the server
// remembers anything else.
func TestWhatMayHaveTakenPermitsIsUndoneForAsLongAsTheyLast(t *testing.T) {
	for what, lease := range map[string]redlatch.Option{
		"no lease": permitsemaphore.WithoutExpiry(), "a long lease": redlatch.WithLease(6 * time.Hour),
	} {
		for name, begin := range map[string]func(t *testing.T, s *permitsemaphore.Semaphore, o *outage){
			"an acquisition": func(t *testing.T, s *permitsemaphore.Semaphore, o *outage) {
				o.begins.Store(true)
				_, err := s.Acquire(t.Context(), 3, lease)
				require.ErrorIs(t, err, redlatch.ErrUnavailable)
			},
			"a release for which a waiter with such a lease is to have them": func(t *testing.T, s *permitsemaphore.Semaphore, o *outage) {
				p := acquire(t, s, 3)
				ctx, cancel := context.WithCancel(t.Context())
				waits := acquiring(ctx, s, 3, lease)
				time.Sleep(time.Second)
				o.begins.Store(true)
				require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrUncertain)
				cancel()
				require.ErrorIs(t, (<-waits).err, context.Canceled)
			},
			"releases that share a script": func(t *testing.T, s *permitsemaphore.Semaphore, o *outage) {
				all := []*permitsemaphore.Permit{acquire(t, s, 1), acquire(t, s, 1), acquire(t, s, 1, lease)}
				ctx, cancel := context.WithCancel(t.Context())
				waits := acquiring(ctx, s, 1)
				time.Sleep(time.Second)
				o.begins.Store(true)
				released := make(chan error, len(all))
				for _, p := range all {
					go func() { released <- p.Release(t.Context()) }()
					synctest.Wait()
				}
				for range all {
					require.Error(t, <-released)
				}
				cancel()
				require.ErrorIs(t, (<-waits).err, context.Canceled)
			},
			"a lease that was changed, and then a release": func(t *testing.T, s *permitsemaphore.Semaphore, o *outage) {
				p := acquire(t, s, 3)
				o.begins.Store(true)
				require.ErrorIs(t, p.UpdateLease(t.Context(), permitsemaphore.NoExpiry), redlatch.ErrUncertain)
				require.ErrorIs(t, p.Release(t.Context()), errAway)
			},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					s, o := apart(t)
					p := acquire(t, s, 3) // the server knows the scripts
					waits := acquiring(t.Context(), s, 3, lease)
					time.Sleep(time.Second)
					require.NoError(t, p.UpdateLease(t.Context(), time.Minute))
					require.NoError(t, p.Release(t.Context()))
					require.NoError(t, receive(t, waits).Release(t.Context()))
					time.Sleep(time.Second) // what the wait has left behind is done
					begin(t, s, o)
					time.Sleep(10 * time.Minute)
					o.on.Store(false)
					time.Sleep(5 * time.Second)
					left, err := s.AvailablePermits(t.Context())
					require.NoError(t, err)
					require.EqualValues(t, 3, left)
				})
			})
		}
	}
}

// Who recovers from the panic has no Permit that could be released.
func TestWhatAnObserverPanicsAtIsGivenBack(t *testing.T) {
	for what, lease := range map[string]redlatch.Option{
		"renewed": redlatch.WithWatchdogTimeout(time.Hour), "no lease": permitsemaphore.WithoutExpiry(), "a long lease": redlatch.WithLease(time.Hour),
	} {
		t.Run(what, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				var released atomic.Int64
				s, _ := apart(t, redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
					switch e.Kind {
					case redlatch.EventAcquired:
						panic("an observer")
					case redlatch.EventReleased:
						released.Add(1)
					}
				})))
				require.PanicsWithValue(t, "an observer", func() { _, _ = s.Acquire(t.Context(), 2, lease) })
				require.PanicsWithValue(t, "an observer", func() { _, _ = s.TryAcquire(t.Context(), 1, lease) })
				time.Sleep(time.Second)
				require.EqualValues(t, 2, released.Load())
				left, err := s.AvailablePermits(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 3, left)
			})
		})
	}
}

func TestAReleaseByAClosedClientDoesNotPromiseToGoOn(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		s := permitsemaphore.New(client, "pool", briefly.Linger(0))
		_, err := s.TrySetPermits(t.Context(), 1)
		require.NoError(t, err)
		p := acquire(t, s, 1)
		require.NoError(t, client.Close())
		err = p.Release(t.Context())
		require.ErrorIs(t, err, redis.ErrClosed)
		require.NotContains(t, err.Error(), "goes on")
	})
}

// A program may recover from it, and cannot release the same permits a second time.
func TestAReleaseDuringWhichAHookPanicsGoesThrough(t *testing.T) {
	for what, release := range map[string]func(s *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error{
		"by the permit": func(_ *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error {
			return p.Release(context.Background())
		},
		"by its ids": func(s *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error {
			return s.Release(context.Background(), p.IDs()...)
		},
	} {
		t.Run(what, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				s, o := apart(t)
				p := acquire(t, s, 2, permitsemaphore.WithoutExpiry())
				ctx := p.Context(t.Context())
				synctest.Wait() // no worker is left that could take the command along
				o.panics.Store(true)
				require.Panics(t, func() { _ = release(s, p) })
				require.ErrorIs(t, context.Cause(ctx), redlatch.ErrReleased)
				time.Sleep(5 * time.Second)
				left, err := s.AvailablePermits(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 3, left)
			})
		})
	}
}

// Of an acquisition that succeeded by its second send the first has to be barred. If that fails its caller has no permits.
func TestAnAcquisitionThatCannotBeBarredIsGivenBack(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		s, o := apart(t, redlatch.WithOutage(time.Second))
		require.NoError(t, acquire(t, s, 1).Release(t.Context())) // the scripts are known
		o.heals = true
		o.begins.Store(true)
		_, err := s.Acquire(t.Context(), 2, permitsemaphore.WithoutExpiry())
		require.ErrorIs(t, err, errAway)
		o.on.Store(false)
		time.Sleep(5 * time.Second)
		left, err := s.AvailablePermits(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, left)
	})
}
