package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rwlock"
)

// Readers of a process that leave what they share to others, and those that come meanwhile.

// listened has another process listen for the end of the holds, and the streak of s be over.
func (s *sharing) listened() {
	s.Helper()
	sub := s.client.Subscribe(s.ctx, "redisson_rwlock:{"+s.name+"}", "redlatch_rwlock_row:{"+s.name+"}:known")
	s.Cleanup(func() { _ = sub.Close() })
	for range 2 {
		_, err := sub.Receive(s.ctx)
		require.NoError(s, err)
	}
	time.Sleep(20 * time.Millisecond)
}

// Who tries is granted the lock beside readers that are about to leave it to others. So is a reader whose wait is too short for those.
func TestAReaderThatCannotWaitForOthersToLeaveAsks(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Millisecond, 9 * time.Millisecond} {
		fakeTime(t, func(k *kit) {
			s := k.shared()
			s.listened()
			late := k.served(k.asks(s.lock.RLock, k.ctx, redlatch.WithWait(wait)))
			require.NotEqual(k, s.holds[0].Owner(), late.Owner())
		})
	}
}

// As long as Redis has said nothing, nothing is known.
func TestAReaderThatWaitsForOthersToLeaveWasRefusedByNobody(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		s.listened()
		ctx, cancel := context.WithCancel(k.ctx)
		late := k.asks(s.lock.RLock, ctx)
		k.waits(late)
		cancel()
		got := <-late
		require.ErrorIs(k, got.err, context.Canceled)
		require.NotErrorIs(k, got.err, redlatch.ErrNotAcquired)
	})
}

func TestAReaderThatWasRefusedAndWaitsForOthersToLeaveWasRefused(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		reader := k.take(lock.RLock, k.ctx)
		writer := k.asks(k.process().Lock, k.ctx, rwlock.WithWriterPreference())
		k.waits(writer)
		ctx, cancel := context.WithCancel(k.ctx)
		late := k.asks(lock.RLock, ctx)
		k.waits(late)
		cancel()
		require.ErrorIs(k, (<-late).err, redlatch.ErrNotAcquired)
		k.give(reader)
		k.served(writer)
	})
}

// Others would wait for its lease to end, and not for those that share it.
func TestNobodyWaitsForAHoldThatWasLeft(t *testing.T) {
	fakeTime(t, func(k *kit) {
		s := k.shared()
		inner := k.take(s.lock.RLock, s.holds[0].Context(k.ctx))
		inner.Leave()
		late := k.served(k.asks(s.lock.RLock, k.ctx))
		require.NotEqual(k, s.holds[0].Owner(), late.Owner())
	})
}
