package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

// inside counts the permits in use, and notes when there were ever more than there are.
type inside struct {
	now, most atomic.Int64
}

func (i *inside) enter(n int64) {
	now := i.now.Add(n)
	for most := i.most.Load(); now > most && !i.most.CompareAndSwap(most, now); most = i.most.Load() {
	}
}

func (i *inside) leave(n int64) { i.now.Add(-n) }

// An acquisition is cancelled after a random time between nothing and several round trips, in competition with others.
// Whatever the moment, its permits are either held or available.
func TestAcquisitionsCancelledAtRandomPointsLoseNoPermit(t *testing.T) {
	const (
		permits = 3
		workers = 8
		each    = 60
	)
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, 10*time.Second)
		r.proxy.Latency(500 * time.Microsecond)
		key := srv.Key(t, "s")
		set(t, r.direct, key, permits)
		s := semaphore.New(r.faulty, key, briefly.Linger(0), redlatch.WithPoll(long))
		require.NoError(t, s.Do(t.Context(), 1, func(context.Context) error { return nil })) // dials
		start := time.Now()
		for range 5 {
			require.NoError(t, s.Acquire(t.Context(), 1))
			require.NoError(t, s.Release(t.Context(), 1))
		}
		trip := time.Since(start) / 10 // this machine's, as busy as it is now
		var (
			work                sync.WaitGroup
			busy                inside
			taken, given, wrong atomic.Int64
		)
		for worker := range workers {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			work.Go(func() {
				for range each {
					n := 1 + random.Int64N(2)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(16*trip))))
					err := s.Acquire(ctx, n)
					cancel()
					switch {
					case err == nil:
						taken.Add(1)
						busy.enter(n)
						time.Sleep(time.Duration(random.Int64N(int64(time.Millisecond)))) // the work
						busy.leave(n)
						if s.Release(ctx, n) != nil {
							wrong.Add(1)
						}
					case errors.Is(err, context.DeadlineExceeded):
						given.Add(1)
					default:
						wrong.Add(1)
					}
				}
			})
		}
		work.Wait()
		require.Zero(t, wrong.Load())
		require.LessOrEqual(t, busy.most.Load(), int64(permits))
		require.NotZero(t, taken.Load(), "nobody was in time, so the test tests nothing")
		require.NotZero(t, given.Load(), "everybody was in time, so the test tests nothing")
		// An acquisition that was cancelled as it was on its way may take permits once more, until it is undone.
		eventually(t, "all permits are available, and stay so", func() bool {
			for range 20 {
				if value(t, r.direct, key) != strconv.Itoa(permits) {
					return false
				}
				time.Sleep(time.Millisecond)
			}
			return true
		})
		eventually(t, "nobody is subscribed", func() bool { return subscribers(t, r.direct, key) == 0 })
	})
}

// Sixteen goroutines of two processes, while replies are lost, connections cut and requests late.
func TestUnderFaultsPermitsAreNeverOverIssuedNorLost(t *testing.T) {
	const (
		permits = 4
		workers = 16
		each    = 15
	)
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, 100*time.Millisecond)
		second := srv.Client(t, func(o *redis.Options) {
			o.Addr = r.proxy.Addr()
			o.ReadTimeout = 100 * time.Millisecond
		})
		key := srv.Key(t, "s")
		set(t, r.direct, key, permits)
		random := rand.New(rand.NewPCG(2, 2)) // guarded by the proxy
		mine := onCall(key)
		sometimes := func(c faultproxy.Command) bool { return mine(c) && random.IntN(100) < 3 }
		var rules []*faultproxy.Rule
		for _, fault := range []faultproxy.Action{
			faultproxy.DropReply, faultproxy.HalfReply, faultproxy.CloseAfter, faultproxy.ResetAfter,
			faultproxy.CloseBefore, faultproxy.DropRequest, faultproxy.Delay(250 * time.Millisecond),
		} {
			rules = append(rules, r.proxy.On(sometimes, 0, fault))
		}
		var (
			work sync.WaitGroup
			busy inside
			errs = make(chan error, workers*each)
		)
		for worker := range workers {
			s := semaphore.New([]*redis.Client{r.faulty, second}[worker%2], key, briefly.Linger(0),
				redlatch.WithPoll(200*time.Millisecond))
			random := rand.New(rand.NewPCG(3, uint64(worker)))
			work.Go(func() {
				for range each {
					n := 1 + random.Int64N(3)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(1500))*time.Millisecond)
					err := s.Acquire(ctx, n)
					cancel()
					if err != nil {
						if !errors.Is(err, context.DeadlineExceeded) {
							errs <- fmt.Errorf("acquire: %w", err)
						}
						continue
					}
					busy.enter(n)
					time.Sleep(time.Duration(random.Int64N(int64(time.Millisecond)))) // the work
					busy.leave(n)
					if err := s.Release(t.Context(), n); err != nil && !errors.Is(err, redlatch.ErrUncertain) {
						errs <- fmt.Errorf("release: %w", err)
					}
				}
			})
		}
		work.Wait()
		close(errs)
		for err := range errs {
			t.Error(err)
		}
		require.LessOrEqual(t, busy.most.Load(), int64(permits))
		for i, rule := range rules {
			require.NotZero(t, rule.Hits(), "fault %d never happened", i)
			rule.Remove()
		}
		eventually(t, "all permits are available", func() bool { return value(t, r.direct, key) == strconv.Itoa(permits) })
		r.proxy.Close()
		require.Equal(t, strconv.Itoa(permits), value(t, r.direct, key))
	})
}
