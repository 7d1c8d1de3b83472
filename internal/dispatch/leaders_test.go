package dispatch_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
)

// crowd sends commands at the same time and waits for all replies.
func crowd(t *testing.T, d *dispatch.Dispatcher, callers int64) {
	t.Helper()
	results := make(chan error, callers)
	for n := range callers {
		go func() { results <- d.Do(t.Context(), "key", command(n), dispatch.ToMaster) }()
	}
	for range callers {
		require.NoError(t, <-results)
	}
	synctest.Wait() // a leader looks at the time when it has told its callers
}

func TestTheNumberOfLeadersFollowsTheRoundTripTime(t *testing.T) {
	for _, test := range []struct {
		rtt     time.Duration
		leaders int
	}{
		{20 * time.Microsecond, dispatch.FewLeaders},
		{600 * time.Microsecond, dispatch.FewLeaders},
		{time.Millisecond, 8},
		{1300 * time.Microsecond, 10},
		{2 * time.Millisecond, dispatch.MaxLeaders},
		{100 * time.Millisecond, dispatch.MaxLeaders},
	} {
		t.Run(fmt.Sprint(test.rtt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.rtt = test.rtt
				d := dispatch.New(s, nil, linger(0))
				crowd(t, d, 1)
				crowd(t, d, 100)
				require.Equal(t, test.leaders, s.most)
				synctest.Wait()
				requireIdle(t, d)
			})
		})
	}
}

func TestTheNumberOfLeadersFallsAtOnceAndGrowsWhenTheFastTripsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.rtt = 5 * time.Millisecond
		d := dispatch.New(s, nil, linger(0))
		crowd(t, d, 1)
		s.becomes(20 * time.Microsecond)
		crowd(t, d, 1)
		crowd(t, d, 100)
		require.Equal(t, dispatch.FewLeaders, s.most)
		s.becomes(5 * time.Millisecond)
		crowd(t, d, 100)
		require.Equal(t, dispatch.FewLeaders, s.most, "one slow second says nothing")
		for range 500 {
			crowd(t, d, 1)
		}
		crowd(t, d, 100)
		require.Equal(t, dispatch.MaxLeaders, s.most)
	})
}

func TestACrowdThatComesFirstHasAllItsLeadersAfterOneRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.rtt = 5 * time.Millisecond
		d := dispatch.New(s, nil, linger(0))
		begin := time.Now()
		crowd(t, d, 100)
		require.Equal(t, 2*s.rtt, time.Since(begin))
		require.Greater(t, s.most, 2*dispatch.FewLeaders)
	})
}

func TestLeadersTooManyEndAlsoWhileThereIsAlwaysSomethingQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.rtt = 5 * time.Millisecond
		d := dispatch.New(s, nil, linger(0))
		ctx, stop := context.WithCancel(t.Context())
		for n := range int64(100) {
			go func() {
				for d.Do(ctx, "key", command(n), dispatch.ToMaster) == nil {
				}
			}()
		}
		const fast, long = 20 * time.Microsecond, 5 * time.Millisecond
		time.Sleep(10 * long)
		require.Equal(t, dispatch.MaxLeaders, s.becomes(fast))
		time.Sleep(2 * long)
		s.becomes(fast)
		time.Sleep(long)
		most := s.becomes(fast)
		stop()
		synctest.Wait()
		require.Equal(t, dispatch.FewLeaders, most)
		time.Sleep(fast)
	})
}

// A pooled is a server behind a client that tells how many connections it may open.
type pooled struct {
	*server
	size int
}

func (p pooled) Options() *redis.Options { return &redis.Options{PoolSize: p.size} }

func TestLeadersLeaveHalfOfTheConnectionsToOthers(t *testing.T) {
	for size, leaders := range map[int]int{2: dispatch.FewLeaders, 10: 5, 20: 10, 100: dispatch.MaxLeaders} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.rtt = 50 * time.Millisecond
			d := dispatch.New(pooled{s, size}, nil, linger(0))
			crowd(t, d, 1)
			crowd(t, d, 100)
			require.Equal(t, leaders, s.most)
		})
	}
}

// Callers that come back at once stay together with those who left with them: as many groups as there are leaders, all
// of one size, and nobody waits for another group.
func TestCallersWhoComeBackAtOnceTravelInEqualGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, rounds = 16, 50
		s := newServer()
		d := dispatch.New(s, nil, linger(0))
		results := make(chan error, callers)
		begin := time.Now()
		for n := range int64(callers) {
			go func() {
				for range rounds {
					if err := d.Do(t.Context(), "key", command(n), dispatch.ToMaster); err != nil {
						results <- err
						return
					}
				}
				results <- nil
			}()
		}
		for range callers {
			require.NoError(t, <-results)
		}
		trips := s.departures()
		for _, commands := range trips[len(trips)/4 : len(trips)*3/4] {
			require.LessOrEqual(t, commands, callers/dispatch.FewLeaders+1)
		}
		require.Less(t, time.Since(begin), rounds*3/2*rtt)
	})
}

// hang has commands with negative numbers take three seconds longer.
func hang(cmd redis.Cmder) {
	if number(cmd) < 0 {
		time.Sleep(3 * time.Second)
	}
}

func TestWhenAllTripsHangOthersLeaveAfterTwoTicksAndLaterThereAreFewLeadersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.before = hang
		d := dispatch.New(s, nil, linger(0))
		hanging := busy(t.Context(), d)
		begin := time.Now()
		crowd(t, d, 1)
		require.LessOrEqual(t, time.Since(begin), 2*dispatch.TickPeriod+rtt)
		begin = time.Now()
		for range 100 {
			crowd(t, d, 20)
		}
		require.Equal(t, 100*2*rtt, time.Since(begin), "those that are late count no more")
		for range dispatch.FewLeaders {
			require.NoError(t, <-hanging)
		}
		crowd(t, d, 1)
		s.becomes(rtt)
		crowd(t, d, 100)
		require.Equal(t, dispatch.FewLeaders, s.most)
		time.Sleep(dispatch.TickPeriod)
		synctest.Wait()
		require.False(t, d.Ticking(), "nothing is queued")
		requireIdle(t, d)
	})
}

func TestOneTripThatHangsHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.before = hang
		d := dispatch.New(s, nil, linger(0))
		hanging := start(t.Context(), d, command(-1))
		begin := time.Now()
		crowd(t, d, 100)
		require.Less(t, time.Since(begin), dispatch.TickPeriod)
		require.NoError(t, <-hanging)
	})
}

func TestASilentServerGetsTheMostLeadersAndNoMoreAndCallersLeaveInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		d := dispatch.New(s, nil, linger(0))
		crowd(t, d, 1)
		s.becomes(time.Minute)
		const callers = 300
		late := make(chan time.Duration, callers)
		for n := range int64(callers) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			begin := time.Now()
			go func() {
				defer cancel()
				if err := d.Do(ctx, "key", command(n), dispatch.ToMaster); err == nil {
					t.Error("a silent server has answered")
				}
				late <- time.Since(begin) - 50*time.Millisecond
			}()
			time.Sleep(time.Millisecond)
		}
		for range callers {
			require.Zero(t, <-late)
		}
		require.Equal(t, dispatch.MaxLeaders, s.most)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.False(t, d.Ticking())
		requireIdle(t, d)
	})
}
