package baselock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/briefly"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/rwlock"
)

// A borrower has a writer for which other calls of its process wait.
type borrower struct {
	*testing.T
	sent   redistest.Sent
	mini   *miniredis.Miniredis
	lock   *rwlock.Lock
	writer *redlatch.Hold
}

type taking = func(context.Context, ...redlatch.Option) (*redlatch.Hold, error)

func (b *borrower) wait(take taking) <-chan *redlatch.Hold {
	got := make(chan *redlatch.Hold, 1)
	go func() {
		hold, _ := take(b.Context())
		got <- hold
	}()
	synctest.Wait()
	return got
}

func borrows(t *testing.T, does func(b *borrower)) {
	redistest.Bubble(t, func(t *testing.T) {
		m, client := redistest.InMemory(t)
		b := &borrower{T: t, mini: m, lock: rwlock.New(client, "lock", briefly.Linger(0))}
		client.AddHook(&b.sent)
		m.HSet("lock", "mode", "write", "another:1:write", "1")
		writer := b.wait(b.lock.Lock)
		m.Publish(keys.ReadWriteChannel("lock"), "0") // from here on the process hears of the lock
		time.Sleep(time.Millisecond)
		m.Del("lock")
		b.writer = <-writer
		does(b)
	})
}

// The goroutine of a reader that leaves may stand still before it looks how old the news is. Meanwhile the last reader has handed the lock
// on, on news that were fresh, so the one before it held as well.
func TestAReaderThatLeftBeforeALoanWasHandedOnWasNotInDoubt(t *testing.T) {
	borrows(t, func(b *borrower) {
		leaver, last, next := b.wait(b.lock.RLock), b.wait(b.lock.RLock), b.wait(b.lock.Lock)
		b.sent.Store(0)
		require.NoError(b, b.writer.Unlock(b.Context()))
		gone := <-leaver
		vouch := baselock.Slip(rootapi.Adopt(gone))
		require.NoError(b, (<-last).Unlock(b.Context()))
		n := <-next
		require.Zero(b, b.sent.Load(), "it was a loan")
		time.Sleep(time.Second)
		require.NoError(b, vouch(b.Context()))
		require.ErrorIs(b, gone.Unlock(b.Context()), redlatch.ErrReleased)
		require.NoError(b, n.Unlock(b.Context()))
	})
}

// The goroutine of a writer may stand still between its look at the clock and the hand-off, past the end of the streak. The timer of an
// earlier loan finds none meanwhile.
func TestALoanThatBeginsLateEnds(t *testing.T) {
	borrows(t, func(b *borrower) {
		reader := b.wait(b.lock.RLock)
		baselock.HandOnLate(rootapi.Adopt(b.writer))
		r := <-reader
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(b, "read", b.mini.HGet("lock", "mode"))
		require.NoError(b, r.Unlock(b.Context()))
	})
}
