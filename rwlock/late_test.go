package rwlock_test

import (
	"context"
	"log/slog"
	"net"
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

// A slowWay is a hook of a client whose next command is on its way to the server for so long.
type slowWay struct{ next atomic.Int64 }

func (s *slowWay) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slowWay) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(time.Duration(s.next.Swap(0)))
		return next(ctx, cmd)
	}
}

func (s *slowWay) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The acquisition of a reader within a write hold has the writer's identity. Its caller has left, and it is still on its way. When
// it has been executed, a release takes back what it brought. Both would be about the reads of whoever had that identity by then.
func TestAWriterWithTheGhostOfAReaderInsideDoesNotHandTheLockOn(t *testing.T) {
	for _, next := range []string{"a writer that reads inside", "a reader"} {
		t.Run(next, func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				way, client := &slowWay{}, redis.NewClient(redistest.InMemoryOptions(k.mini))
				k.Cleanup(func() { _ = client.Close() })
				client.AddHook(way)
				lock := rwlock.New(client, k.name, briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)))
				k.give(k.take(lock.RLock, k.take(lock.Lock, k.ctx).Context(k.ctx)), k.holds[0]) // the server knows the scripts
				first := k.heard(lock)
				ctx, cancel := context.WithCancel(k.ctx)
				way.next.Store(int64(time.Second))
				ghost := k.asks(lock.RLock, first.Context(ctx))
				k.waits(ghost)
				cancel()
				require.ErrorIs(k, (<-ghost).err, context.Canceled)

				wants := lock.Lock
				if next == "a reader" {
					wants = lock.RLock
				}
				waiter := k.asks(wants, k.ctx)
				k.waits(waiter)
				k.give(first)
				second := k.served(waiter)
				inner := second
				if next != "a reader" {
					inner = k.take(lock.RLock, second.Context(k.ctx))
				}
				time.Sleep(2 * time.Minute)
				require.Equal(k, "1", k.fields()[inner.Owner()], "it reads")
				require.True(k, inner.Valid())
				k.taken(k.process().TryLock)
				if inner != second {
					k.give(inner)
				}
				k.give(second)
				require.Empty(k, k.keys())
			})
		})
	}
}

// A slowDial is a hook of a client whose connections take so long to be made.
type slowDial struct {
	slowWay
	takes atomic.Int64
}

func (s *slowDial) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(time.Duration(s.takes.Load()))
		return next(ctx, network, addr)
	}
}

// A waiter that expects to be handed the lock does not ask. A reader within the write hold ends that: the writer hands nothing on, and
// its release is not heard by a process whose subscription is under way.
func TestAWaiterDoesNotWaitForAHandOffPastAReaderInside(t *testing.T) {
	for _, first := range []string{"the reader", "the writer"} {
		t.Run(first+" goes first", func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				dial, client := &slowDial{}, redis.NewClient(redistest.InMemoryOptions(k.mini))
				k.Cleanup(func() { _ = client.Close() })
				client.AddHook(dial)
				lock := rwlock.New(client, k.name, briefly.Linger(0), redlatch.WithPoll(time.Hour), redlatch.WithLogger(slog.New(slog.DiscardHandler)))
				writer := k.take(lock.Lock, k.ctx)
				began, subscribed := time.Now(), 500*time.Millisecond
				dial.takes.Store(int64(subscribed))
				waiter := k.asks(lock.Lock, k.ctx)
				k.waits(waiter)
				reader := k.take(lock.RLock, writer.Context(k.ctx))
				if first == "the reader" {
					k.give(reader, writer)
				} else {
					k.give(writer, reader)
				}
				got := <-waiter // by a question that came right after the releases, or by the one that follows the subscription
				require.NoError(k, got.err)
				require.LessOrEqual(k, got.at.Sub(began), subscribed)
				k.give(got.hold)
				time.Sleep(subscribed) // the connection that was being made is closed
			})
		})
	}
}

// The last question of a writer that leaves comes to the server behind what takes the announcement back, and announces the writer anew.
func TestAQuestionThatComesBehindTheWithdrawalKeepsNoReaderOut(t *testing.T) {
	fakeTime(t, func(k *kit) {
		way, client := &slowWay{}, redis.NewClient(redistest.InMemoryOptions(k.mini))
		k.Cleanup(func() { _ = client.Close() })
		client.AddHook(way)
		readers := k.process()
		reader := k.take(readers.RLock, k.ctx)
		writers := rwlock.New(client, k.name, briefly.Linger(0), rwlock.WithWriterPreference(), redlatch.WithLogger(slog.New(slog.DiscardHandler)))
		ctx, leave := context.WithCancel(k.ctx)
		waits := k.asks(writers.Lock, ctx)
		k.waits(waits)
		k.taken(k.process().TryRLock)

		way.next.Store(int64(time.Second))
		require.Positive(k, k.mini.Publish("redisson_rwlock:{"+k.name+"}", "1"))
		synctest.Wait()
		require.Zero(k, way.next.Load(), "its next question is under way")
		leave()
		require.ErrorIs(k, (<-waits).err, context.Canceled)
		time.Sleep(500 * time.Millisecond)
		k.free(k.process().TryRLock)
		time.Sleep(time.Second)
		k.free(k.process().TryRLock)
		k.give(reader)
	})
}
