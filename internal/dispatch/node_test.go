package dispatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/outcome"
)

func TestALoneCallerIsSentAtOnceAndByItself(t *testing.T) {
	for name, cancellable := range map[string]bool{"cancellable": true, "uncancellable": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, begin := context.Background(), time.Now()
				if cancellable {
					ctx = t.Context()
				}
				s := newServer()
				d := dispatch.New(s, nil, linger(0))
				for n := range int64(3) {
					cmd := command(n)
					require.NoError(t, d.Do(ctx, "key", cmd, dispatch.ToMaster))
					require.Equal(t, n, cmd.Val())
				}
				require.Equal(t, []int{1, 1, 1}, s.departures())
				require.Equal(t, 3*rtt, time.Since(begin))
				synctest.Wait()
				requireIdle(t, d)
			})
		})
	}
}

func TestCallersShareRoundTripsWhileAllLeadersAreUnderWay(t *testing.T) {
	for name, cancellable := range map[string]bool{"cancellable": true, "uncancellable": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, begin := context.Background(), time.Now()
				if cancellable {
					ctx = t.Context()
				}
				s := newServer()
				d := dispatch.New(s, nil, linger(0))
				leaders := busy(ctx, d)
				results, cmds := []<-chan error{}, []*redis.IntCmd{}
				for n := range int64(10) {
					cmds = append(cmds, command(n))
					results = append(results, start(ctx, d, cmds[n]))
				}
				for n, result := range results {
					require.NoError(t, <-result)
					require.EqualValues(t, n, cmds[n].Val())
				}
				for range dispatch.FewLeaders {
					require.NoError(t, <-leaders)
				}
				trips := s.departures()
				require.Equal(t, []int{1, 1, 1, 1}, trips[:dispatch.FewLeaders])
				sum := 0
				for _, commands := range trips[dispatch.FewLeaders:] {
					require.LessOrEqual(t, commands, 4, "each takes a share, with what is still under way counted in")
					sum += commands
				}
				require.Equal(t, 10, sum)
				require.Equal(t, 2*rtt, time.Since(begin))
				require.Equal(t, dispatch.FewLeaders, s.most)
				synctest.Wait()
				requireIdle(t, d)
			})
		})
	}
}

func TestAPipelineCarriesNoMoreThanItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		d := dispatch.New(s, nil, linger(0))
		busy(t.Context(), d)
		const more = dispatch.FewLeaders*dispatch.MaxBatch + 7
		results := make(chan error, more)
		for n := range int64(more) {
			go func() { results <- d.Do(t.Context(), "key", command(n), dispatch.ToMaster) }()
		}
		for range more {
			require.NoError(t, <-results)
		}
		trips := s.departures()
		const full = 2 * dispatch.FewLeaders
		for _, commands := range trips[dispatch.FewLeaders:full] {
			require.Equal(t, dispatch.MaxBatch, commands)
		}
		sum := 0
		for _, commands := range trips[full:] {
			sum += commands
		}
		require.Equal(t, 7, sum)
		synctest.Wait()
		requireIdle(t, d)
	})
}

func TestACallerWhoLeavesTheQueueWasNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		d := dispatch.New(s, nil, linger(0))
		for range dispatch.FewLeaders { // requests that have been used before
			busy(t.Context(), d)
		}
		time.Sleep(time.Second)
		busy(t.Context(), d)
		ctx, cancel := context.WithCancel(t.Context())
		leaving, staying := start(ctx, d, command(1)), start(t.Context(), d, command(2))
		cancel()
		err := <-leaving
		require.ErrorIs(t, err, context.Canceled)
		var unsent *outcome.Unsent
		require.ErrorAs(t, err, &unsent)
		require.NoError(t, <-staying)
		require.Zero(t, s.sent[1], "it had left before the leaders came back")
		require.Equal(t, 1, s.sent[2])
		synctest.Wait()
		requireIdle(t, d)
	})
}

func TestAnEndedContextSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		d := dispatch.New(s, nil, linger(0))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var unsent *outcome.Unsent
		require.ErrorAs(t, d.Do(ctx, "key", command(1), dispatch.ToMaster), &unsent)
		_, err := d.Synced(ctx, "key", command(1), 1, time.Second)
		require.ErrorAs(t, err, &unsent)
		require.Empty(t, s.departures())
	})
}

func TestACallerWhoLeavesInFlightReturnsAtOnceAndCanHaveTheReplyLater(t *testing.T) {
	for name, batched := range map[string]bool{"alone": false, "in a pipeline": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				d := dispatch.New(s, nil, linger(0))
				ctx, cancel := context.WithCancel(t.Context())
				cmd, other := command(1), command(2)
				if batched {
					busy(t.Context(), d)
				}
				result, otherResult := start(ctx, d, cmd), start(t.Context(), d, other)
				if batched {
					time.Sleep(rtt)
				}
				time.Sleep(rtt / 2)
				left := time.Now()
				cancel()
				err := <-result
				require.Zero(t, time.Since(left))
				require.ErrorIs(t, err, context.Canceled)
				var flight *dispatch.InFlight
				require.ErrorAs(t, err, &flight)
				require.Same(t, cmd, ended(t, flight))
				require.EqualValues(t, 1, cmd.Val())
				require.Equal(t, rtt/2, time.Since(left))
				require.NoError(t, <-otherResult)
				synctest.Wait()
				requireIdle(t, d)
			})
		})
	}
}

func TestAReplyThatIsThereIsReturnedAlthoughTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			d := dispatch.New(newServer(), nil, linger(0))
			ctx, cancel := context.WithTimeout(t.Context(), rtt) // the instant of the reply
			cmd := command(1)
			err := d.Do(ctx, "key", cmd, dispatch.ToMaster)
			cancel()
			var flight *dispatch.InFlight
			if errors.As(err, &flight) {
				require.Same(t, cmd, ended(t, flight))
			} else {
				require.NoError(t, err)
			}
			require.EqualValues(t, 1, cmd.Val())
			synctest.Wait()
			requireIdle(t, d)
		}
	})
}

func TestAnUncancellableCallerLeadsOnItsOwnGoroutineAndItsPanicLeaksNoLeader(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("a hook of the client") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.before = func(cmd redis.Cmder) {
					if number(cmd) < 0 {
						time.Sleep(rtt)
						end()
					}
				}
				d := dispatch.New(s, nil, linger(0))
				for i := range int64(dispatch.FewLeaders) {
					go func() {
						defer func() { _ = recover() }()
						_ = d.Do(context.Background(), "key", command(-1-i), dispatch.ToMaster)
					}()
				}
				synctest.Wait()
				queued := start(t.Context(), d, command(1))
				require.NoError(t, <-queued, "the queue must not be stuck behind leaders that are gone")
				synctest.Wait()
				requireIdle(t, d)
			})
		})
	}
}

func TestAWorkerIsReusedAndEndsAfterLingering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		d := dispatch.New(s, nil, linger(3*time.Second))
		for n := range int64(20) {
			require.NoError(t, d.Do(t.Context(), "key", command(n), dispatch.ToMaster))
			synctest.Wait()
			_, _, parked := d.Load()
			require.Equal(t, 1, parked)
			require.Equal(t, 1, workers())
			time.Sleep(2 * time.Second)
		}
		// One timer serves all workers, so one that was parked just after the timer was set stays for two lingers.
		time.Sleep(5 * time.Second)
		synctest.Wait()
		requireIdle(t, d)
		require.Zero(t, workers())
	})
}

func TestAWorkerStaysAtLeastTheLingerTimeAndLessThanTwo(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 2999 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			d := dispatch.New(newServer(), nil, linger(3*time.Second))
			leaders := busy(t.Context(), d) // parks workers, and sets the timer
			for range dispatch.FewLeaders {
				require.NoError(t, <-leaders)
			}
			time.Sleep(after)
			require.NoError(t, d.Do(t.Context(), "key", command(1), dispatch.ToMaster))
			synctest.Wait()
			time.Sleep(3*time.Second - 1)
			synctest.Wait()
			_, _, parked := d.Load()
			require.Positive(t, parked)
			time.Sleep(3*time.Second + 1)
			synctest.Wait()
			requireIdle(t, d)
		})
	}
}

func TestACommandThatComesAsTheWorkerRetiresIsSent(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			d := dispatch.New(s, nil, linger(time.Second))
			require.NoError(t, d.Do(t.Context(), "key", command(1), dispatch.ToMaster))
			synctest.Wait()
			time.Sleep(time.Second) // the worker's timer fires at this instant
			require.NoError(t, d.Do(t.Context(), "key", command(2), dispatch.ToMaster))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			requireIdle(t, d)
		})
	}
}

// Callers come and leave at random. Requests are pooled, so a completion that reaches the wrong caller would show as a
// command that ended without its own reply.
func TestNoInterleavingLosesACommandSendsItTwiceOrMixesUpReplies(t *testing.T) {
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.rtt = 10 * time.Millisecond
			d := dispatch.New(s, nil, linger(time.Duration(rand.IntN(2))*time.Second))
			const callers = 300
			type result struct {
				cmd *redis.IntCmd
				err error
			}
			results := make(chan result, callers)
			for n := range int64(callers) {
				go func() {
					time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
					ctx := context.Background()
					if rand.IntN(3) > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rand.IntN(30))*time.Millisecond)
						defer cancel()
					}
					cmd := command(n)
					results <- result{cmd, d.Do(ctx, "key", cmd, dispatch.ToMaster)}
				}()
			}
			for range callers {
				r := <-results
				n := number(r.cmd)
				var (
					flight *dispatch.InFlight
					unsent *outcome.Unsent
				)
				switch {
				case errors.As(r.err, &unsent):
					s.mu.Lock()
					require.Zero(t, s.sent[n])
					s.mu.Unlock()
					continue
				case errors.As(r.err, &flight):
					require.Equal(t, n, ended(t, flight).Val())
				default:
					require.NoError(t, r.err)
					require.Equal(t, n, r.cmd.Val())
				}
				s.mu.Lock()
				require.Equal(t, 1, s.sent[n])
				s.mu.Unlock()
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			requireIdle(t, d)
			require.LessOrEqual(t, s.most, dispatch.MaxLeaders)
		})
	}
}
