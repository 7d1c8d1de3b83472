package rwlock_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

// A sharing process has a read hold that others join.
type sharing struct {
	*kit
	lock  *rwlock.Lock
	sent  redistest.Sent
	holds []*redlatch.Hold
}

// shared has two calls of a process acquire for themselves, and another join the second.
func (k *kit) shared(opts ...redlatch.Option) *sharing {
	k.Helper()
	s := &sharing{kit: k}
	client := redis.NewClient(redistest.InMemoryOptions(k.mini))
	client.AddHook(&s.sent)
	k.Cleanup(func() { _ = client.Close() })
	s.lock = rwlock.New(client, k.name, append([]redlatch.Option{briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	for range 3 {
		s.holds = append(s.holds, k.take(s.lock.RLock, k.ctx))
		synctest.Wait() // it hears messages now
	}
	require.NotEqual(k, s.holds[0].Owner(), s.holds[1].Owner())
	require.Equal(k, s.holds[1].Owner(), s.holds[2].Owner())
	k.give(s.holds[0])
	s.holds = s.holds[1:]
	require.Equal(k, map[string]string{"mode": "read", s.holds[0].Owner(): "1"}, k.fields())
	return s
}

// quiet requires that do sends no command.
func (s *sharing) quiet(do func()) {
	s.Helper()
	before := s.sent.Load()
	do()
	require.Equal(s, before, s.sent.Load(), "a command was sent")
}

func TestReadersOfOneProcessAreOneReader(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		owner := s.holds[0].Owner()
		s.quiet(func() {
			for range 10 {
				h := k.take(s.lock.RLock, k.ctx)
				require.Equal(k, owner, h.Owner())
				k.give(h)
			}
			k.give(s.holds[0]) // the one that acquired, before the one that joined it
		})
		require.Equal(k, map[string]string{"mode": "read", owner: "1"}, k.fields())
		k.taken(k.process().TryLock)
		k.give(s.holds[1])
		require.Empty(k, k.keys())
	})
}

func TestOneLeaseIsRenewedForAllThatShareIt(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		k.give(s.holds[0])
		time.Sleep(time.Minute)
		require.True(k, s.holds[1].Valid())
		late := k.take(s.lock.RLock, k.ctx)
		require.Equal(k, s.holds[1].Owner(), late.Owner(), "a script has confirmed it, and a new streak begins")
		k.give(s.holds[1])
		time.Sleep(time.Minute)
		require.True(k, late.Valid())
		k.give(late)
		require.Empty(k, k.keys())
	})
}

func TestAReaderWithTermsOfItsOwnJoinsNobodyAndNobodyJoinsIt(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		own := []redlatch.Option{
			redlatch.WithLease(time.Minute), redlatch.WithMaxHold(time.Minute), redlatch.WithAtLeast(time.Millisecond),
			redlatch.WithoutLocalHandOff(), redlatch.WithWatchdogTimeout(time.Minute),
		}
		for i, opt := range own {
			h := k.take(s.lock.RLock, k.ctx, opt)
			require.NotEqual(k, s.holds[0].Owner(), h.Owner(), "option %d", i)
			other := k.take(s.lock.RLock, k.ctx)
			require.NotEqual(k, h.Owner(), other.Owner(), "option %d", i)
			time.Sleep(time.Millisecond)
			k.give(h, other)
		}
	})
}

// What was promised to one hold would be how long writers wait when the process dies.
func TestAReaderJoinsNoHoldWhoseLeaseIsLongerThanItsOwn(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		require.NoError(k, s.holds[0].Extend(k.ctx, time.Hour))
		h := k.take(s.lock.RLock, k.ctx)
		require.NotEqual(k, s.holds[0].Owner(), h.Owner())
		require.LessOrEqual(k, time.Until(h.Until()), 30*time.Second)
	})
}

func TestAReadHoldWithinAWriteHoldIsNotShared(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx)
		inner := k.take(lock.RLock, w.Context(k.ctx))
		k.give(w)
		for range 3 {
			h := k.take(lock.RLock, k.ctx)
			synctest.Wait()
			require.NotEqual(k, inner.Owner(), h.Owner())
		}
	})
}

func TestAWriterThatWaitsIsNotOvertaken(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		writer := k.asks(s.lock.Lock, k.ctx)
		k.waits(writer)
		reader := k.asks(s.lock.RLock, k.ctx)
		k.waits(writer, reader)
		_, err := s.lock.TryRLock(k.ctx)
		require.ErrorIs(k, err, redlatch.ErrNotAcquired)
		k.give(s.holds[0])
		k.waits(writer, reader)
		before := s.sent.Load()
		k.give(s.holds[1])
		w := k.served(writer)
		require.EqualValues(k, 1, s.sent.Load()-before, "one script gives the lock to the writer")
		k.waits(reader)
		k.give(w)
		k.give(k.served(reader))
	})
}

func TestAWriterThatLeavesLetsTheReadersBehindItJoin(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		ctx, cancel := context.WithCancel(k.ctx)
		writer := k.asks(s.lock.Lock, ctx)
		k.waits(writer)
		readers := []<-chan grant{k.asks(s.lock.RLock, k.ctx), k.asks(s.lock.RLock, k.ctx)}
		k.waits(readers...)
		cancel()
		require.ErrorIs(k, (<-writer).err, context.Canceled)
		for _, r := range readers {
			require.Equal(k, s.holds[0].Owner(), k.served(r).Owner())
		}
	})
}

// Another program listens, as one that waits does. It gets in although readers overlap all the time.
func TestASharedHoldIsLeftToThoseWhoWaitElsewhere(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		writer := k.asks(k.process().Lock, k.ctx)
		k.waits(writer)
		time.Sleep(20 * time.Millisecond)
		late := k.asks(s.lock.RLock, k.ctx) // finds that the streak is over, and that somebody waits
		k.waits(writer, late)
		inner := k.take(s.lock.RLock, s.holds[0].Context(k.ctx)) // still re-enters
		k.give(s.holds...)
		k.waits(writer, late)
		owner := s.holds[0].Owner()
		k.give(inner)
		for range 2 { // both ask at this moment, and either may come first
			select {
			case got := <-writer:
				writer = nil
				k.waits(late)
				k.give(got.hold)
			case got := <-late:
				late = nil
				require.NotEqual(k, owner, got.hold.Owner())
				k.waits(writer)
				k.give(got.hold)
			}
		}
	})
}

// The subscription of another program need not be that of one that waits.
func TestALongSectionKeepsNoReaderOut(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		sub := k.client.Subscribe(k.ctx, "redisson_rwlock:{"+k.name+"}")
		defer sub.Close()
		_, err := sub.Receive(k.ctx)
		require.NoError(k, err)
		time.Sleep(20 * time.Millisecond)
		late := k.asks(s.lock.RLock, k.ctx)
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		require.NotEqual(k, s.holds[0].Owner(), (<-late).hold.Owner())
	})
}

func TestEachThatSharesALostHoldLearnsOfItOnce(t *testing.T) {
	for _, by := range []string{"force", "deletion"} {
		t.Run(by, func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				var lost, released atomic.Int64
				observe := redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
					switch e.Kind {
					case redlatch.EventLost:
						lost.Add(1)
					case redlatch.EventReleased:
						released.Add(1)
					}
					require.False(k, e.Reentry)
				}))
				s := k.shared(observe)
				s.holds = append(s.holds, k.take(s.lock.RLock, k.ctx))
				given := released.Load()
				thief := k.process()
				if by == "force" {
					freed, err := thief.Reader().ForceUnlock(k.ctx)
					require.NoError(k, err)
					require.True(k, freed)
				} else {
					k.lose()
					time.Sleep(20 * time.Millisecond) // the news is old
				}
				w := k.take(thief.Lock, k.ctx)
				synctest.Wait() // the message has come
				require.ErrorIs(k, s.holds[1].Unlock(k.ctx), redlatch.ErrLost)
				for _, h := range s.holds {
					require.False(k, h.Valid())
				}
				_, err := s.lock.TryRLock(k.ctx)
				require.ErrorIs(k, err, redlatch.ErrNotAcquired)
				require.ErrorIs(k, s.holds[0].Unlock(k.ctx), redlatch.ErrLost)
				require.ErrorIs(k, s.holds[2].Unlock(k.ctx), redlatch.ErrLost)
				require.EqualValues(k, 3, lost.Load())
				require.Equal(k, given, released.Load())
				require.Equal(k, map[string]string{"mode": "write", w.Owner() + ":write": "1"}, k.fields())
			})
		})
	}
}

func TestAHoldThatIsSharedCountsItsOwnReentries(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		count := func(h *redlatch.Hold) int64 {
			k.Helper()
			n, err := s.lock.Reader().HoldCount(h.Context(k.ctx))
			require.NoError(k, err)
			return n
		}
		inner := k.take(s.lock.RLock, s.holds[1].Context(k.ctx))
		require.EqualValues(k, 1, count(s.holds[0]))
		require.EqualValues(k, 2, count(s.holds[1]))
		require.EqualValues(k, 2, count(inner))
		require.Equal(k, map[string]string{"mode": "read", inner.Owner(): "2"}, k.fields())
		k.give(s.holds...)
		require.EqualValues(k, 1, count(inner))
		info, err := s.lock.Inspect(k.ctx)
		require.NoError(k, err)
		require.Len(k, info.Holders, 1)
		k.give(inner)
		require.Empty(k, k.keys())
	})
}

// What was left, or dropped, stays until its lease is over; nobody joins it, which would renew it.
func TestNobodyJoinsWhatAHoldWasLeftOf(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		s.holds[1].Leave()
		other := k.take(s.lock.RLock, k.ctx)
		require.NotEqual(k, s.holds[0].Owner(), other.Owner())
		k.give(other, s.holds[0])
		k.taken(k.process().TryLock)
		time.Sleep(31 * time.Second)
		k.free(k.process().TryLock)
	})
}
