package rwlock_test

import (
	"context"
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

// Who is served when: readers and writers of one process, and writers that are preferred among processes.

// As with sync.RWMutex: a waiting writer is not starved by a stream of new readers of its process.
func TestNewReadersStandBehindAWaitingWriterOfTheirProcess(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process(redlatch.WithPoll(time.Hour))
		first := k.take(lock.RLock, k.ctx)
		writer := k.asks(lock.Lock, k.ctx)
		k.waits(writer)
		k.taken(lock.TryRLock)
		a, b := k.asks(lock.RLock, k.ctx), k.asks(lock.RLock, k.ctx)
		k.waits(a, b)
		second := k.asks(lock.Lock, k.ctx)
		k.waits(second)
		inner := k.take(lock.RLock, first.Context(k.ctx)) // whoever holds may hold again
		k.give(inner)
		k.waits(writer)

		k.give(first)
		w := k.served(writer)
		k.waits(a, b, second)
		k.give(w)
		ra, rb := k.served(a), k.served(b) // together, and before the writer that came later
		k.waits(second)
		k.give(ra)
		k.waits(second)
		k.give(rb)
		k.give(k.served(second))
	})
}

func TestReadersThatWaitGetInTogether(t *testing.T) {
	fakeTime(t, func(k *kit) {
		w := k.take(k.process().Lock, k.ctx)
		var asked []<-chan grant
		for range 3 {
			lock := k.process(redlatch.WithPoll(time.Hour))
			for range 5 {
				asked = append(asked, k.asks(lock.RLock, k.ctx))
			}
		}
		time.Sleep(time.Second)
		k.waits(asked...)
		k.give(w)
		for _, a := range asked {
			k.served(a)
		}
	})
}

func TestReadersBehindAWriterThatLeavesGetInAtOnce(t *testing.T) {
	fakeTime(t, func(k *kit) {
		foreign := k.take(k.process().RLock, k.ctx)
		lock := k.process(redlatch.WithPoll(time.Hour))
		ctx, cancel := context.WithCancel(k.ctx)
		writer := k.asks(lock.Lock, ctx)
		k.waits(writer)
		a, b := k.asks(lock.RLock, k.ctx), k.asks(lock.RLock, k.ctx)
		time.Sleep(time.Second)
		k.waits(a, b)
		cancel()
		require.ErrorIs(k, (<-writer).err, redlatch.ErrNotAcquired)
		k.give(k.served(a), k.served(b), foreign)
	})
}

func TestAWaitingWriterWithPreferenceKeepsNewReadersOut(t *testing.T) {
	for _, poll := range []time.Duration{time.Second, time.Minute, time.Hour} {
		t.Run(poll.String(), func(t *testing.T) { keepsNewReadersOut(t, redlatch.WithPoll(poll)) })
	}
	t.Run("an option of the call", func(t *testing.T) {
		keepsNewReadersOut(t, redlatch.WithPoll(time.Second), redlatch.WithPoll(time.Minute))
	})
}

func keepsNewReadersOut(t *testing.T, poll redlatch.Option, call ...redlatch.Option) {
	fakeTime(t, func(k *kit) {
		readers := k.process(redlatch.WithPoll(time.Hour))
		writers := k.process(rwlock.WithWriterPreference(), poll)
		held := k.take(readers.RLock, k.ctx)
		writer := k.asks(writers.Lock, k.ctx, call...)
		k.waits(writer)
		for range 100 { // for as long as it waits
			time.Sleep(time.Second)
			k.taken(readers.TryRLock)
		}
		k.give(k.take(readers.RLock, held.Context(k.ctx))) // whoever holds may hold again
		late := k.asks(readers.RLock, k.ctx)
		k.waits(late)
		require.Equal(k, map[string]string{"mode": "read", held.Owner(): "1"}, k.fields(), "nothing foreign in the hash")
		k.give(held)
		w := k.served(writer)
		k.waits(late)
		k.give(w)
		k.give(k.served(late))
		require.Empty(k, k.keys())
	})
}

// What keeps the reader out is not the reader that holds the lock, and not for as long as that does.
func TestATryToReadThatIsRefusedForAWriterWhoWaitsSaysSo(t *testing.T) {
	fakeTime(t, func(k *kit) {
		held := k.take(k.process().RLock, k.ctx)
		writer := k.asks(k.process(rwlock.WithWriterPreference(), redlatch.WithPoll(time.Minute)).Lock, k.ctx)
		k.waits(writer)
		_, err := k.process().TryRLock(k.ctx)
		require.EqualError(k, err, `redlatch: not acquired: read lock "`+k.name+
			`" is held by somebody else, or others wait for it, for another 6s unless renewed`)
		k.give(held)
		k.give(k.served(writer))
	})
}

func TestWithoutPreferenceReadersOfOtherProcessesOvertakeAWriter(t *testing.T) {
	fakeTime(t, func(k *kit) {
		readers, writers := k.process(), k.process()
		held := k.take(readers.RLock, k.ctx)
		writer := k.asks(writers.Lock, k.ctx)
		time.Sleep(time.Second)
		k.give(k.take(readers.TryRLock, k.ctx))
		k.waits(writer)
		k.give(held)
		k.give(k.served(writer))
	})
}

func TestAPreferredWriterThatLeavesLetsTheReadersIn(t *testing.T) {
	fakeTime(t, func(k *kit) {
		readers := k.process(redlatch.WithPoll(time.Hour))
		writers := k.process(rwlock.WithWriterPreference())
		held := k.take(readers.RLock, k.ctx)
		ctx, cancel := context.WithCancel(k.ctx)
		writer := k.asks(writers.Lock, ctx)
		k.waits(writer)
		late := k.asks(readers.RLock, k.ctx)
		time.Sleep(time.Second)
		k.waits(late)
		cancel()
		require.ErrorIs(k, (<-writer).err, context.Canceled)
		k.give(k.served(late), held)
		require.Empty(k, k.keys())
	})
}

// A question can be on its way when its writer leaves, and arrive after what takes the announcement back.
func TestAQuestionOfAPreferredWriterThatHasLeftKeepsNobodyOut(t *testing.T) {
	fakeTime(t, func(k *kit) {
		client := redis.NewClient(redistest.InMemoryOptions(k.mini))
		defer client.Close()
		var slowly slow
		client.AddHook(&slowly)
		writers := rwlock.New(client, k.name, rwlock.WithWriterPreference(), briefly.Linger(0))
		readers := k.process()
		held := k.take(readers.RLock, k.ctx)
		ctx, cancel := context.WithCancel(k.ctx)
		writer := k.asks(writers.Lock, ctx)
		k.waits(writer)
		slowly.on.Store(true)
		time.Sleep(3 * time.Second) // a question sets out
		synctest.Wait()
		slowly.on.Store(false)
		cancel()
		require.ErrorIs(k, (<-writer).err, context.Canceled)
		synctest.Wait()
		k.free(readers.TryRLock)
		time.Sleep(time.Second) // it arrives
		synctest.Wait()
		k.free(readers.TryRLock)
		k.give(held)
	})
}

func TestAPreferredWriterThatDiesKeepsReadersOutForTwoPolls(t *testing.T) {
	fakeTime(t, func(k *kit) {
		readers := k.process(redlatch.WithPoll(time.Hour))
		writers := k.process(rwlock.WithWriterPreference(), redlatch.WithPoll(2*time.Second))
		held := k.take(readers.RLock, k.ctx)
		ctx, cancel := context.WithCancel(k.ctx)
		writer := k.asks(writers.Lock, ctx)
		synctest.Wait()
		announced := "redlatch_rwlock_writers:{" + k.name + "}"
		last, err := k.client.ZRangeWithScores(k.ctx, announced, 0, -1).Result()
		require.NoError(k, err)
		require.Len(k, last, 1)
		require.Equal(k, 4*time.Second, k.ttl(announced))
		cancel() // and as if it had not withdrawn
		<-writer
		synctest.Wait()
		require.NoError(k, k.client.ZAdd(k.ctx, announced, last...).Err())
		start := time.Now()
		got := <-k.asks(readers.RLock, k.ctx)
		require.NoError(k, got.err)
		require.LessOrEqual(k, got.at.Sub(start), 4*time.Second+200*time.Millisecond)
		require.Greater(k, got.at.Sub(start), time.Second)
		k.give(got.hold, held)
		require.NoError(k, k.client.Del(k.ctx, announced).Err())
	})
}

// What a process that is killed had announced is over after seconds, also where it would have polled once a minute.
func TestAPreferredWriterThatIsKilledKeepsReadersOutForSeconds(t *testing.T) {
	realTime(t, func(k *kit) {
		held := k.take(k.process().RLock, k.ctx)
		lock, proxy := k.faulty(rwlock.WithWriterPreference(), redlatch.WithPoll(time.Minute))
		ctx, cancel := context.WithCancel(k.ctx)
		writer := k.asks(lock.Lock, ctx)
		announced := "redlatch_rwlock_writers:{" + k.name + "}"
		k.eventually("an announcement", func() bool { return k.client.ZCard(k.ctx, announced).Val() == 1 })
		k.taken(k.process().TryRLock)
		proxy.Close() // it cannot withdraw any more
		cancel()
		require.ErrorIs(k, (<-writer).err, context.Canceled)
		left, err := k.client.PTTL(k.ctx, announced).Result()
		require.NoError(k, err)
		require.LessOrEqual(k, left, 10*time.Second)
		k.give(k.take(k.process(redlatch.WithPoll(time.Hour)).RLock, k.ctx, redlatch.WithWait(time.Minute)), held)
	})
}

func TestATryWithPreferenceAnnouncesNothing(t *testing.T) {
	realTime(t, func(k *kit) {
		readers, writers := k.process(), k.process(rwlock.WithWriterPreference())
		held := k.take(readers.RLock, k.ctx)
		k.taken(writers.TryLock)
		k.free(readers.TryRLock)
		k.give(held)
		require.Empty(k, k.keys())
	})
}
