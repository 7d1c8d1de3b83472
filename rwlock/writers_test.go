package rwlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/rwlock"
)

// heard is a write hold that was asked for after the latest message, of a process that hears them. The one before it was
// deleted without a message.
func (k *kit) heard(lock *rwlock.Lock, opts ...redlatch.Option) *redlatch.Hold {
	k.Helper()
	before, err := k.process().Lock(k.ctx)
	require.NoError(k, err)
	next := k.asks(lock.Lock, k.ctx, append(opts, redlatch.WithPoll(50*time.Millisecond))...)
	k.waits(next)
	k.mini.Publish(keys.ReadWriteChannel(k.name), "0")
	time.Sleep(time.Millisecond)
	k.mini.Del(k.name)
	require.ErrorIs(k, before.Unlock(k.ctx), redlatch.ErrLost)
	got := <-next
	require.NoError(k, got.err)
	return got.hold
}

func TestWritersOfAProcessHandTheLockOnWithoutACommand(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		hold := k.heard(lock)
		owner := hold.Owner()
		var writers []<-chan grant
		for range 20 {
			writers = append(writers, k.asks(lock.Lock, k.ctx))
			synctest.Wait()
		}
		for _, w := range writers {
			k.give(hold)
			require.ErrorIs(t, hold.Unlock(k.ctx), redlatch.ErrReleased)
			hold = k.served(w)
			require.Equal(t, owner, hold.Owner())
			k.taken(k.process().TryRLock)
		}
		k.give(hold)
		k.free(k.process().TryLock)
	})
}

// Those of a process are served in the order of arrival, whichever side they want.
func TestAWriterDoesNotHandTheLockOnPastAReader(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process(redlatch.WithPoll(time.Hour))
		hold := k.heard(lock)
		reader := k.asks(lock.RLock, k.ctx)
		synctest.Wait()
		writer := k.asks(lock.Lock, k.ctx)
		synctest.Wait()
		k.give(hold)
		r := k.served(reader)
		k.waits(writer)
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		k.free(k.process().TryRLock) // it is a read hold for others too by now
		k.give(r)
		w := k.served(writer)
		require.NotEqual(t, hold.Owner(), w.Owner())
		k.give(w)
	})
}

// A reader within a write hold has its identity. It keeps the lock when the write hold is given back, and a writer that was
// handed the identity would work beside it.
func TestAWriterWithAReaderInsideDoesNotHandTheLockOn(t *testing.T) {
	for _, order := range []string{"the reader stays", "the reader has gone"} {
		t.Run(order, func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				lock := k.process(redlatch.WithPoll(time.Hour))
				hold := k.heard(lock)
				inner := k.take(lock.RLock, hold.Context(k.ctx))
				writer := k.asks(lock.Lock, k.ctx)
				synctest.Wait()
				if order == "the reader has gone" {
					k.give(inner, hold)
				} else {
					k.give(hold)
					k.waits(writer)
					k.give(inner)
				}
				w := k.served(writer)
				require.NotEqual(t, hold.Owner(), w.Owner())
				k.give(w)
			})
		})
	}
}

func TestAWriteLockThatWasTakenByForceIsNotHandedOn(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		hold := k.heard(lock)
		writer := k.asks(lock.Lock, k.ctx)
		synctest.Wait()
		_, err := k.process().Writer().ForceUnlock(k.ctx)
		require.NoError(t, err)
		synctest.Wait() // the message has come, and the waiter has asked
		require.ErrorIs(t, hold.Unlock(k.ctx), redlatch.ErrLost)
		w := k.served(writer)
		require.NotEqual(t, hold.Owner(), w.Owner())
		k.give(w)
	})
}

// A writer that is preferred has announced itself in Redis, and the script by which it gets in withdraws that.
func TestAPreferredWriterIsNotHandedTheLock(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process(rwlock.WithWriterPreference())
		hold := k.heard(lock)
		writer := k.asks(lock.Lock, k.ctx)
		synctest.Wait()
		k.give(hold)
		w := k.served(writer)
		require.NotEqual(t, hold.Owner(), w.Owner())
		k.give(w)
		k.free(k.process().TryRLock) // nothing is announced any more
	})
}

// Readers and writers of other processes get in although the writers of one never stop.
func TestOthersGetInBesideAProcessWhoseWritersNeverStop(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock, others := k.process(), k.process()
		stop := make(chan struct{})
		for range 8 {
			go func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					hold, err := lock.Lock(k.ctx)
					if err != nil {
						k.Error(err)
						return
					}
					time.Sleep(100 * time.Microsecond)
					_ = hold.Unlock(k.ctx)
				}
			}()
		}
		time.Sleep(time.Second)
		for range 20 {
			for _, side := range []lockFunc{others.RLock, others.Lock} {
				asked := time.Now()
				hold, err := side(k.ctx)
				require.NoError(t, err)
				require.Less(t, time.Since(asked), time.Second)
				require.NoError(t, hold.Unlock(k.ctx))
			}
		}
		close(stop)
		time.Sleep(time.Second)
	})
}
