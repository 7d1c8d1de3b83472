package redlatchtest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/semaphore"
)

func TestALostReplyIsOfACommandThatWasExecuted(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		client := server.Client()
		server.LoseNextReply("n")
		require.NoError(t, client.Set(t.Context(), "other", 1, 0).Err())
		require.NoError(t, client.Incr(t.Context(), "n").Err()) // the client sends it once more
		require.Equal(t, "2", client.Get(t.Context(), "n").Val())

		server.LoseNextReply("orders")
		hold := take(t, lock(client)) // the script is not known, which is no reply that counts
		require.True(t, hold.Valid())
		refused(t, lock(server.Client()))
		server.LoseNextReply("orders")
		require.NoError(t, hold.Unlock(t.Context()))
		require.NoError(t, take(t, lock(server.Client())).Unlock(t.Context()))

		permits := semaphore.New(client, "permits", briefly.Linger(0))
		set, err := permits.TrySetPermits(t.Context(), 3)
		require.NoError(t, err)
		require.True(t, set)
		server.LoseNextReply("permits")
		require.NoError(t, permits.Acquire(t.Context(), 1))
		left, err := permits.AvailablePermits(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, left, "it was counted once")
	})
}

func TestAReplyThatWasNotLostFailsTheTest(t *testing.T) {
	text := failure(t, func(tb testing.TB) { redlatchtest.Run(tb).LoseNextReply("orders") })
	require.Contains(t, text, `LoseNextReply("orders"): no command for that name came`)
}

func TestCutConnectionsAreMadeAgain(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		hold := take(t, lock(server.Client()))
		got := make(chan error)
		go func() {
			next, err := lock(server.Client()).Lock(t.Context())
			if err == nil {
				err = next.Unlock(t.Context())
			}
			got <- err
		}()
		for range 5 {
			time.Sleep(10 * time.Millisecond)
			server.CutConnections()
		}
		require.True(t, hold.Valid())
		require.NoError(t, hold.Unlock(t.Context()))
		require.NoError(t, <-got)
	})
}

func TestAServerThatHangsGoesOnWithWhatItWasSent(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		options := server.Options()
		options.ReadTimeout, options.MaxRetries = time.Minute, -1
		client := newClient(t, options)
		require.NoError(t, client.Ping(t.Context()).Err())
		resume := server.Hang()
		done := make(chan error, 1)
		go func() { done <- client.Incr(t.Context(), "n").Err() }()
		select {
		case err := <-done:
			t.Fatalf("it has answered: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		resume()
		require.NoError(t, <-done)
		require.Equal(t, "1", client.Get(t.Context(), "n").Val())
	})
}

func TestAHoldIsLostWhenTheServerHangsForItsLease(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		hold := take(t, lock(server.Client()))
		ctx := hold.Context(t.Context())
		time.Sleep(time.Hour)
		require.NoError(t, ctx.Err())
		start, resume := time.Now(), server.Hang()
		lostSoon(t, ctx)
		require.LessOrEqual(t, time.Since(start), 30*time.Second, "before the server has the lease over")
		require.Greater(t, time.Since(start), 15*time.Second)
		resume()
		require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrLost)
	})
}

func TestAServerThatIsDownKeepsItsData(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		client := server.Client()
		require.NoError(t, client.Set(t.Context(), "n", 1, 0).Err())
		up := server.Down()
		hold, err := lock(client, redlatch.WithOutage(300*time.Millisecond)).TryLock(t.Context())
		require.Nil(t, hold)
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		up()
		require.Equal(t, "1", client.Get(t.Context(), "n").Val())
	})
	server := redlatchtest.Run(t)
	program := newClient(t, &redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1})
	require.NoError(t, program.Ping(t.Context()).Err())
	up := server.Down()
	require.ErrorContains(t, program.Ping(t.Context()).Err(), "refused")
	up()
	require.NoError(t, program.Ping(t.Context()).Err())
}

func TestAServerThatFailsSaysWhatItIsTold(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		client := server.Client()
		server.LoseNextReply("orders") // waits for a command that is executed
		restore := server.Fail(errors.New("LOADING Redis is loading"))
		again := server.Fail(errors.New("never seen"))
		_, err := lock(client, redlatch.WithOutage(300*time.Millisecond)).Lock(t.Context())
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		require.ErrorContains(t, err, "LOADING Redis is loading")
		_, err = lock(client, redlatch.WithOutage(300*time.Millisecond)).TryLock(t.Context())
		require.ErrorContains(t, err, "LOADING Redis is loading")
		restore()
		restore()
		again()
		require.NoError(t, take(t, lock(client)).Unlock(t.Context()))

		server.LoseNextReply("n")
		restore = server.Fail(errors.New("out of order\nagain"))
		require.Error(t, client.Incr(t.Context(), "n").Err())
		require.EqualError(t, client.Ping(t.Context()).Err(), "ERR out of order again")
		restore()
		require.Equal(t, "redis: nil", fmt.Sprint(client.Get(t.Context(), "n").Err()), "it was not executed")
	})
}

func TestMessagesThatAreDroppedDoNotArrive(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		for _, drop := range []bool{true, false} {
			deliver := server.DropMessages()
			if !drop {
				deliver()
			}
			hold := take(t, lock(server.Client()))
			got := make(chan time.Time)
			go func() {
				next, err := lock(server.Client(), redlatch.WithPoll(7*time.Second)).Lock(t.Context())
				if err == nil {
					got <- time.Now()
					err = next.Unlock(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
				close(got)
			}()
			time.Sleep(10 * time.Second)
			released := time.Now()
			require.NoError(t, hold.Unlock(t.Context()))
			waited := (<-got).Sub(released)
			<-got
			require.Equal(t, drop, waited > 0, "%v", waited)
			require.LessOrEqual(t, waited, 7*time.Second)
		}
	})
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		listening := server.Client().Subscribe(t.Context(), "news")
		t.Cleanup(func() { _ = listening.Close() })
		_, err := listening.Receive(t.Context())
		require.NoError(t, err)
		speaker := server.Client()
		deliver := server.DropMessages()
		require.NoError(t, speaker.Publish(t.Context(), "news", "first").Err())
		redistest.Eventually(t, "the message is dropped", func() bool { return server.Dropped() == 1 })
		deliver()
		require.NoError(t, speaker.Publish(t.Context(), "news", "second").Err())
		message, err := listening.ReceiveMessage(t.Context())
		require.NoError(t, err)
		require.Equal(t, "second", message.Payload)
	})
}
