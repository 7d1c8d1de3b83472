package rwlock_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// One holder on both sides: reading beside a write, downgrade, and no upgrade.

func TestTheWriterReadsUnderItsOwnIdentity(t *testing.T) {
	realTime(t, func(k *kit) {
		lock, stranger := k.process(), k.process()
		w := k.take(lock.Lock, k.ctx)
		ctx := w.Context(k.ctx)
		r := k.take(lock.RLock, ctx)
		require.Equal(k, w.Owner(), r.Owner())
		require.Equal(k, map[string]string{"mode": "write", w.Owner() + ":write": "1", w.Owner(): "1"}, k.fields())

		again := k.take(lock.Lock, r.Context(ctx)) // carries both
		inner := k.take(lock.RLock, r.Context(ctx))
		third := k.take(lock.RLock, ctx) // carries the write hold alone, and is the same reader nevertheless
		require.Equal(k, map[string]string{"mode": "write", w.Owner() + ":write": "2", w.Owner(): "3"}, k.fields())
		for i := 1; i <= 3; i++ {
			require.Positive(k, k.ttl(k.marker(w.Owner(), i)))
		}
		reads, err := lock.Reader().HoldCount(ctx)
		require.NoError(k, err)
		require.EqualValues(k, 3, reads)
		writes, err := lock.Writer().HoldCount(ctx)
		require.NoError(k, err)
		require.EqualValues(k, 2, writes)

		for _, h := range []*redlatch.Hold{inner, again, r, third} {
			k.taken(stranger.TryRLock)
			k.give(h)
		}
		require.Equal(k, map[string]string{"mode": "write", w.Owner() + ":write": "1"}, k.fields())
		require.True(k, w.Valid())
		k.give(w)
		require.Empty(k, k.keys())
	})
}

func TestReadingAgainAndAgainBesideAWriteKeepsTheIdentity(t *testing.T) {
	realTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx)
		for range 5 {
			r := k.take(lock.RLock, w.Context(k.ctx))
			require.Equal(k, w.Owner(), r.Owner())
			k.give(r)
		}
		k.give(w)
		require.Empty(k, k.keys())
	})
}

// Goroutines that were given one context are one holder, whoever of them is first.
func TestGoroutinesReadTogetherBesideTheirWrite(t *testing.T) {
	realTime(t, func(k *kit) {
		lock := k.process()
		for range 20 {
			w := k.take(lock.Lock, k.ctx)
			var asked []<-chan grant
			for range 4 {
				asked = append(asked, k.asks(lock.RLock, w.Context(k.ctx)))
			}
			var readers []*redlatch.Hold
			for _, a := range asked {
				got := <-a
				require.NoError(k, got.err)
				require.Equal(k, w.Owner(), got.hold.Owner())
				readers = append(readers, got.hold)
			}
			require.Equal(k, map[string]string{"mode": "write", w.Owner() + ":write": "1", w.Owner(): "4"}, k.fields())
			k.give(readers...)
			k.give(w)
		}
		require.Empty(k, k.keys())
	})
}

func TestADowngradedHoldIsAReader(t *testing.T) {
	realTime(t, func(k *kit) {
		lock, stranger := k.process(), k.process()
		w := k.take(lock.Lock, k.ctx)
		r := k.take(lock.RLock, w.Context(k.ctx))
		k.taken(stranger.TryRLock)
		k.give(w)
		require.Equal(k, map[string]string{"mode": "read", w.Owner(): "1"}, k.fields())
		require.True(k, r.Valid())
		k.taken(stranger.TryLock)
		other := k.take(stranger.TryRLock, k.ctx)
		k.give(r)
		k.taken(lock.TryLock)
		k.give(other)
		k.free(lock.TryLock)
		require.Empty(k, k.keys())
	})
}

func TestADowngradeWakesReadersOfOtherProcesses(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx)
		r := k.take(lock.RLock, w.Context(k.ctx))
		other := k.process(redlatch.WithPoll(time.Hour))
		a, b := k.asks(other.RLock, k.ctx), k.asks(other.RLock, k.ctx)
		time.Sleep(time.Second)
		k.waits(a, b)
		k.give(w)
		k.give(k.served(a), k.served(b), r)
	})
}

// The release of one side must not end the renewal of the other.
func TestEachSideIsRenewedByItself(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock, stranger := k.process(), k.process()
		w := k.take(lock.Lock, k.ctx)
		k.give(k.take(lock.RLock, w.Context(k.ctx)))
		time.Sleep(10 * time.Minute)
		require.True(k, w.Valid())
		k.taken(stranger.TryRLock)

		r := k.take(lock.RLock, w.Context(k.ctx))
		k.give(w)
		work := r.Context(k.ctx)
		time.Sleep(10 * time.Minute)
		require.NoError(k, work.Err())
		require.GreaterOrEqual(k, k.ttl(k.marker(r.Owner(), 1)), 20*time.Second-time.Millisecond)
		k.taken(stranger.TryLock)
		k.give(r)
	})
}

func TestAReadersUnlockNeverCutsTheWritersLease(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx, redlatch.WithLease(time.Minute))
		outer := k.take(lock.RLock, w.Context(k.ctx), redlatch.WithLease(5*time.Second))
		inner := k.take(lock.RLock, outer.Context(w.Context(k.ctx)), redlatch.WithLease(2*time.Second))
		for _, h := range []*redlatch.Hold{inner, outer} {
			require.Equal(k, time.Minute, k.ttl(k.name))
			k.give(h)
		}
		require.Equal(k, time.Minute, k.ttl(k.name))
		k.give(w)
	})
}

func TestADowngradedLockLastsAsLongAsItsReaders(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx, redlatch.WithLease(time.Hour))
		r := k.take(lock.RLock, w.Context(k.ctx), redlatch.WithLease(5*time.Second))
		k.give(w)
		require.Equal(k, 5*time.Second, k.ttl(k.name))
		require.True(k, r.Valid())
		k.give(r)
	})
}

// The weakness "dead readers": a read hold of the writer whose lease is over must not turn the release into a downgrade.
func TestAReadHoldThatIsOverDoesNotKeepTheLock(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock, other := k.process(), k.process(redlatch.WithPoll(time.Hour))
		w := k.take(lock.Lock, k.ctx)
		k.take(lock.RLock, w.Context(k.ctx), redlatch.WithLease(time.Second))
		time.Sleep(5 * time.Second)
		asked := k.asks(other.Lock, k.ctx)
		k.waits(asked)
		k.give(w)
		k.give(k.served(asked))
	})
}

// Redisson adds the lease to what is left of it.
func TestWriteReentryAddsNoLeaseToTheLease(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx, redlatch.WithLease(30*time.Second))
		inner := k.take(lock.Lock, w.Context(k.ctx), redlatch.WithLease(40*time.Second))
		require.Equal(k, 40*time.Second, k.ttl(k.name))
		shorter := k.take(lock.Lock, w.Context(k.ctx), redlatch.WithLease(time.Second))
		require.Equal(k, 40*time.Second, k.ttl(k.name))
		k.give(shorter, inner, w)
	})
}

func TestAnUpgradeIsRefusedAtOnce(t *testing.T) {
	realTime(t, func(k *kit) {
		lock := k.process()
		r := k.take(lock.RLock, k.ctx)
		ctx := r.Context(k.ctx)
		before := k.srv.Commands(k)
		for _, ask := range []lockFunc{lock.TryLock, lock.Writer().TryLock, lock.Lock, lock.Writer().Lock} {
			_, err := ask(ctx)
			require.ErrorIs(k, err, redlatch.ErrUpgrade)
			require.NotErrorIs(k, err, redlatch.ErrNotAcquired)
			require.Contains(k, err.Error(), k.name)
		}
		require.Zero(k, k.srv.Commands(k)-before, "nothing is sent")
		require.ErrorIs(k, lock.Do(ctx, func(context.Context) error { return nil }), redlatch.ErrUpgrade)

		k.taken(func(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
			return lock.TryLock(redlatch.Detach(r.Context(ctx)), opts...)
		})
		k.give(r)
		k.free(func(context.Context, ...redlatch.Option) (*redlatch.Hold, error) {
			return lock.TryLock(context.WithoutCancel(ctx)) // a read hold that is over does not matter
		})
	})
}

func TestADowngradedHoldIsNotUpgradedAgain(t *testing.T) {
	realTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx)
		r := k.take(lock.RLock, w.Context(k.ctx))
		ctx := r.Context(context.WithoutCancel(w.Context(k.ctx)))
		k.give(w)
		_, err := lock.Lock(ctx)
		require.ErrorIs(k, err, redlatch.ErrUpgrade)
		inner := k.take(lock.RLock, ctx)
		require.Equal(k, r.Owner(), inner.Owner())
		k.give(inner, r)
	})
}

// A reader within the write does not stand in line behind those who wait for the write to end.
func TestReadingBesideAWriteDoesNotWaitForLocalWaiters(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process(redlatch.WithPoll(time.Hour))
		w := k.take(lock.Lock, k.ctx)
		next := k.asks(lock.Lock, k.ctx)
		k.waits(next)
		r := k.take(lock.RLock, w.Context(k.ctx))
		tried := k.take(lock.TryRLock, w.Context(k.ctx))
		k.give(tried, w)
		k.waits(next) // for the reader
		k.give(r)
		k.give(k.served(next))
	})
}

func TestBothSidesAreLostWithTheLock(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx)
		r := k.take(lock.RLock, w.Context(k.ctx))
		writing, reading := w.Context(k.ctx), r.Context(k.ctx)
		time.Sleep(time.Minute)
		k.lose()
		at := time.Now()
		<-writing.Done()
		<-reading.Done()
		require.LessOrEqual(k, time.Since(at), 11*time.Second)
		require.ErrorIs(k, context.Cause(writing), redlatch.ErrLost)
		require.ErrorIs(k, context.Cause(reading), redlatch.ErrLost)
		require.ErrorIs(k, r.Unlock(k.ctx), redlatch.ErrLost)
		require.ErrorIs(k, w.Unlock(k.ctx), redlatch.ErrLost)
		require.Empty(k, k.keys())
	})
}

func TestReadingBesideAWriteThatIsGoneFindsTheLoss(t *testing.T) {
	realTime(t, func(k *kit) {
		lock := k.process()
		w := k.take(lock.Lock, k.ctx)
		ctx := w.Context(k.ctx)
		k.lose()
		before := k.srv.Commands(k)
		_, err := lock.RLock(ctx)
		require.ErrorIs(k, err, redlatch.ErrLost)
		require.Less(k, k.srv.Commands(k)-before, int64(20), "it asks once, and does not go on")
		require.ErrorIs(k, context.Cause(ctx), redlatch.ErrLost)
		require.Empty(k, k.keys(), "nothing is created")
		fresh := k.take(lock.RLock, context.WithoutCancel(ctx)) // now the hold does not matter any more
		require.NotEqual(k, w.Owner(), fresh.Owner())
		k.give(fresh)
	})
}

// The hash has one TTL, and the read hold renews it: what the clock has ended on the write side must go by itself.
func TestAWriteLeaseThatIsOverEndsAlthoughItsReaderLives(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock, other := k.process(), k.process()
		w := k.take(lock.Lock, k.ctx, redlatch.WithLease(5*time.Second))
		r := k.take(lock.RLock, w.Context(k.ctx))
		time.Sleep(6 * time.Second)
		require.False(k, w.Valid())
		require.True(k, r.Valid())
		require.Equal(k, map[string]string{"mode": "read", r.Owner(): "1"}, k.fields())
		k.give(k.take(other.TryRLock, k.ctx))
		require.ErrorIs(k, w.Unlock(k.ctx), redlatch.ErrLost)
		time.Sleep(5 * time.Minute)
		require.True(k, r.Valid())
		k.give(r)
		require.Empty(k, k.keys())
	})
}

// The program has dropped the write hold and goes on reading. That the reader is renewed must not keep others out as a
// writer would.
func TestAWriteHoldThatIsDroppedEndsAlthoughItsReaderLives(t *testing.T) {
	realTime(t, func(k *kit) {
		forgotten := make(chan redlatch.Event, 10)
		lock := k.process(redlatch.WithWatchdogTimeout(3*time.Second), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventForgotten {
				forgotten <- e
			}
		})))
		reader := func() *redlatch.Hold {
			writer, err := lock.Lock(k.ctx)
			require.NoError(k, err)
			return k.take(lock.RLock, writer.Context(k.ctx))
		}()
		k.eventually("the write hold is found forgotten", func() bool {
			runtime.GC()
			return len(forgotten) > 0
		})
		got := <-k.asks(k.process(redlatch.WithPoll(100*time.Millisecond)).RLock, k.ctx, redlatch.WithWait(30*time.Second))
		require.NoError(k, got.err)
		require.True(k, reader.Valid())
		k.give(got.hold, reader)
	})
}

// Who reads within its write hold has two holds of two locks: neither is a re-entry of the other.
func TestTheFirstReadWithinAWriteHoldIsNoReentry(t *testing.T) {
	realTime(t, func(k *kit) {
		var (
			mu  sync.Mutex
			got []string
		)
		lock := k.process(redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind != redlatch.EventWaiting {
				got = append(got, fmt.Sprint(e.Primitive, " ", e.Kind, " ", e.Reentry))
			}
		})))
		w := k.take(lock.Lock, k.ctx)
		r := k.take(lock.RLock, w.Context(k.ctx))
		again := k.take(lock.RLock, w.Context(k.ctx))
		k.give(again, r, w)
		require.Equal(k, []string{
			"write_lock acquired false", "read_lock acquired false", "read_lock acquired true",
			"read_lock released true", "read_lock released false", "write_lock released false",
		}, got)
	})
}
