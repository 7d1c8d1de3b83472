package redlock_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlock"
)

// another is the lock of another process, whose waiters do not ask the others without the first server's vote. asked counts the commands that
// it sends to each server.
func (b *trio) another() (lock *redlock.Lock, asked *[3]atomic.Int64) {
	asked = &[3]atomic.Int64{}
	var clients []redlatch.Client
	for i, server := range b.servers {
		options := redistest.InMemoryOptions(server)
		options.Addr = b.clients[i].Options().Addr
		client := redis.NewClient(options)
		b.Cleanup(func() { _ = client.Close() })
		client.AddHook(hook(func() error { asked[i].Add(1); return nil }))
		clients = append(clients, client)
	}
	return redlock.New(clients, name, briefly.Linger(0), redlatch.WithPoll(time.Hour)), asked
}

func TestAWaiterOfAnotherProcessNeedNotPoll(t *testing.T) {
	inBubble(t, func(b *trio) {
		hold := b.lockNow(b.lock())
		theirs, _ := b.another()
		w := waits(b.Context(), theirs)
		time.Sleep(time.Second)
		began := time.Now()
		b.unlocks(hold)
		next := w.got(b)
		require.Less(b, time.Since(began), noPause)
		b.unlocks(next)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// If all that are woken asked all servers, each could get some of them, and none enough.
func TestOfThoseWhoAreWokenOnlyOneAsksAllServers(t *testing.T) {
	inBubble(t, func(b *trio) {
		hold := b.lockNow(b.lock())
		const processes = 5
		var (
			waiters [processes]*wait
			asked   [processes]*[3]atomic.Int64
		)
		for i := range processes {
			var lock *redlock.Lock
			lock, asked[i] = b.another()
			waiters[i] = waits(b.Context(), lock)
		}
		time.Sleep(time.Second + 7*time.Millisecond)
		for _, a := range asked {
			for i := range a {
				a[i].Store(0)
			}
		}
		b.harms(0, func() error { time.Sleep(time.Millisecond); return nil }) // where they ask first it becomes free last
		b.unlocks(hold)
		time.Sleep(5 * time.Millisecond) // for two sends
		synctest.Wait()
		winners := 0
		for i, w := range waiters {
			select {
			case <-w.done:
				require.NoError(b, w.err)
				winners++
			default:
				require.Zero(b, asked[i][1].Load()+asked[i][2].Load())
			}
		}
		require.Equal(b, 1, winners)
		left := waiters[:]
		for len(left) > 0 { // each gets its turn
			var rest []*wait
			for _, w := range left {
				select {
				case <-w.done:
					b.unlocks(w.got(b))
				default:
					rest = append(rest, w)
				}
			}
			left = rest
			time.Sleep(time.Second)
		}
	})
}

// What is left there of a process that has died must not keep the others from a majority.
func TestAFirstServerThatRefusesKeepsNobodyFromTheOthers(t *testing.T) {
	inBubble(t, func(b *trio) {
		stale, busy := b.on(0), b.on(1)
		w := waits(b.Context(), b.lock())
		time.Sleep(3 * time.Second)
		require.NoError(b, busy.Unlock(b.Context()))
		began := time.Now()
		hold := w.got(b)
		require.Less(b, time.Since(began), time.Second)
		time.Sleep(time.Second) // a vote that comes while its wait ends would join the hold
		require.NoError(b, stale.Unlock(b.Context()))
		synctest.Wait()
		require.Empty(b, b.fields()[0], "the waiter that has the others waits there no longer")
		b.unlocks(hold)
		require.Equal(b, [3]string{}, b.fields())
	})
}

func TestAWaiterIsServedThoughTheFirstServerIsSilent(t *testing.T) {
	inBubble(t, func(b *trio) {
		theirs, _ := b.another()
		hold := b.lockNow(theirs)
		w := waits(b.Context(), b.lock())
		b.harms(0, func() error { time.Sleep(3 * time.Second); return nil })
		time.Sleep(time.Second)
		b.unlocks(hold) // the message comes, and the question has no answer
		began := time.Now()
		next := w.got(b)
		require.Less(b, time.Since(began), 2*time.Second)
		b.harms(0, nil)
		require.NoError(b, next.Unlock(b.Context()))
		time.Sleep(2 * time.Minute) // what is in doubt is settled
		require.Equal(b, [3]string{}, b.fields())
	})
}
