package redlock_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	rediskeys "github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlock"
)

// process is the lock of one more process. before is what comes before each of its commands to the server i.
func (b *trio) process(before func(ctx context.Context, i int) error, opts ...redlatch.Option) *redlock.Lock {
	var clients []redlatch.Client
	for i, server := range b.servers {
		options := redistest.InMemoryOptions(server)
		options.Addr = b.clients[i].Options().Addr
		client := redis.NewClient(options)
		b.Cleanup(func() { _ = client.Close() })
		client.AddHook(ctxHook(func(ctx context.Context) error { return before(ctx, i) }))
		clients = append(clients, client)
	}
	return redlock.New(clients, name, append(opts, briefly.Linger(0))...)
}

// ctxHook is a hook that is given the context of the command.
type ctxHook func(ctx context.Context) error

func (ctxHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h ctxHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (ctxHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A server that is down has the others wait for it once. Whichever it is, those who want the lock are served in turn after that. If
// each round waited for it, the grants of the others would be kept from those whose turn it is for as long.
func TestOneServerThatIsDownHoldsUpOnlyTheFirstRounds(t *testing.T) {
	const processes, trip, section, lasts = 3, time.Millisecond, time.Millisecond, 300 * time.Millisecond
	for down, what := range []string{"the first", "the second", "the third"} {
		for _, hung := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hung: %v", what, hung), func(t *testing.T) {
				inBubble(t, func(b *trio) {
					before := func(ctx context.Context, i int) error {
						switch {
						case i != down:
							time.Sleep(trip)
							return nil
						case hung:
							select {
							case <-ctx.Done():
							case <-time.After(3 * time.Second):
							}
						}
						return io.ErrUnexpectedEOF
					}
					var (
						all     sync.WaitGroup
						inside  atomic.Int64
						turns   [processes]int64
						slowest [processes]time.Duration
						begins  = time.Now().Add(2 * time.Second)
						ends    = begins.Add(lasts)
					)
					for p := range processes {
						lock := b.process(before)
						all.Go(func() {
							for time.Now().Before(ends) {
								began := time.Now()
								hold, err := lock.Lock(b.Context())
								if err != nil || inside.Add(1) != 1 {
									b.Errorf("two inside, or %v", err)
									return
								}
								if began.After(begins) {
									turns[p]++
									slowest[p] = max(slowest[p], time.Since(began))
								}
								time.Sleep(section)
								inside.Add(-1)
								if err := hold.Unlock(b.Context()); err != nil {
									b.Error(err)
								}
								if time.Now().Before(begins) {
									time.Sleep(50 * time.Millisecond)
								}
							}
						})
					}
					all.Wait()
					b.Log(turns, slowest)
					for p := range processes {
						require.GreaterOrEqual(b, turns[p], int64(10))
						require.Less(b, slowest[p], 100*time.Millisecond)
					}
					require.GreaterOrEqual(b, redistest.Evenness(turns[:]), 0.9)
					time.Sleep(3 * time.Minute) // what is in doubt is settled
				})
			})
		}
	}
}

// What it keeps while it waits for a slow server is what the process whose turn it is needs.
func TestANewcomerThatTheFirstServerRefusesWaitsForNoOther(t *testing.T) {
	inBubble(t, func(b *trio) {
		first := b.on(0)
		w := waits(b.Context(), b.process(func(_ context.Context, i int) error {
			if i == 2 {
				time.Sleep(400 * time.Millisecond)
			}
			return nil
		}, redlatch.WithPoll(time.Hour)))
		require.Empty(b, b.fields()[1])
		require.NoError(b, first.Unlock(b.Context()))
		hold := w.got(b)
		time.Sleep(time.Second)
		b.unlocks(hold)
		time.Sleep(time.Second)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// If it gave the first server back it would stand behind those who came after it.
func TestANewcomerKeepsWhatTheFirstServerHasGrantedWhileItAsksTheOthersAgain(t *testing.T) {
	inBubble(t, func(b *trio) {
		b.unlocks(b.lockNow(b.lock())) // the servers know the scripts
		second, third := b.on(1), b.on(2)
		var asked atomic.Int64
		b.harms(0, func() error { asked.Add(1); return nil })
		for _, other := range []int{1, 2} { // the first server answers first
			b.harms(other, func() error { time.Sleep(time.Millisecond); return nil })
		}
		w := waits(b.Context(), b.lock())
		time.Sleep(5 * time.Millisecond)
		require.NoError(b, second.Unlock(b.Context()))
		require.NoError(b, third.Unlock(b.Context()))
		hold := w.got(b)
		require.LessOrEqual(b, asked.Load(), int64(2), "by its hash, and then whole, if at all")
		b.unlocks(hold)
	})
}

// queues tells on which servers processes stand in a queue.
func (b *trio) queues() (queues [3]bool) {
	for i, server := range b.servers {
		queues[i] = server.Exists(rediskeys.LockRowKeys(name)[0])
	}
	return queues
}

func TestTheSecondServerHasTheQueueWhileTheFirstIsDown(t *testing.T) {
	inBubble(t, func(b *trio) {
		theirs, _ := b.another()
		lock := b.lock()
		hold := b.lockNow(theirs)
		b.harms(0, func() error { return io.ErrUnexpectedEOF })
		w := waits(b.Context(), lock)
		time.Sleep(2 * time.Second)
		require.Equal(b, [3]bool{false, true, false}, b.queues())
		released := time.Now()
		b.unlocks(hold)
		hold = w.got(b)
		require.Less(b, time.Since(released), noPause)

		b.harms(0, nil)
		b.unlocks(hold)
		hold = b.lockNow(lock) // the first server is asked too
		w = waits(b.Context(), theirs)
		time.Sleep(100 * time.Millisecond)
		require.Equal(b, [3]bool{true, false, false}, b.queues())
		released = time.Now()
		b.unlocks(hold)
		b.unlocks(w.got(b))
		require.Less(b, time.Since(released), noPause)
		time.Sleep(2 * time.Minute) // what is in doubt is settled
		require.Equal(b, [3]string{}, b.fields())
	})
}

// Else each caller would wait for half a second, until the lease of the dead process is over.
func TestWhatADeadProcessHasOnTheFirstServerHoldsUpANewcomerForMilliseconds(t *testing.T) {
	inBubble(t, func(b *trio) {
		stale := b.on(0)
		lock := b.far([3]time.Duration{time.Millisecond, time.Millisecond, time.Millisecond})
		for range 3 {
			began := time.Now()
			hold, err := lock.Lock(b.Context())
			require.NoError(b, err)
			require.Less(b, time.Since(began), 50*time.Millisecond)
			b.unlocks(hold)
			time.Sleep(time.Second)
		}
		require.NoError(b, stale.Unlock(b.Context()))
	})
}

// The wait in the queue of the first server sends it nothing for a poll interval.
func TestAWaiterFindsOutThatTheFirstServerIsDown(t *testing.T) {
	inBubble(t, func(b *trio) {
		theirs, _ := b.another()
		hold := b.lockNow(theirs)
		w := waits(b.Context(), b.lock(redlatch.WithPoll(6*time.Second)))
		require.Equal(b, [3]bool{true, false, false}, b.queues())
		b.harms(0, func() error { time.Sleep(3 * time.Second); return io.ErrUnexpectedEOF })
		time.Sleep(2 * time.Second) // a sixth of the poll interval, and a node timeout
		require.True(b, b.queues()[1])
		released := time.Now()
		b.unlocks(hold)
		hold = w.got(b)
		require.Less(b, time.Since(released), noPause)
		b.unlocks(hold)
		b.harms(0, nil)
		time.Sleep(3 * time.Minute) // what is in doubt is settled
		require.Equal(b, [3]string{}, b.fields())
	})
}
