package countdownlatch_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

const poll = 3 * time.Second

// scripts counts the scripts that a client sends.
type scripts struct{ sent atomic.Int64 }

func (*scripts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *scripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") {
			s.sent.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (s *scripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if strings.HasPrefix(cmd.Name(), "eval") {
				s.sent.Add(1)
			}
		}
		return next(ctx, cmds)
	}
}

// A bubble is a latch on fake time with a count of 1, and another process that shares it.
type bubble struct {
	*testing.T
	l       *countdownlatch.Latch
	scripts *scripts
	other   *countdownlatch.Latch // of another client
	redis   *redis.Client         // the other client
}

func inBubble(t *testing.T, test func(b *bubble)) {
	t.Helper()
	redistest.Bubble(t, func(t *testing.T) {
		m, client := redistest.InMemory(t)
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		b := &bubble{T: t, scripts: &scripts{}, redis: other}
		b.l = countdownlatch.New(client, "l", briefly.Linger(0), redlatch.WithPoll(poll))
		b.other = countdownlatch.New(other, "l", briefly.Linger(0))
		require.ErrorIs(t, b.l.Await(t.Context()), countdownlatch.ErrNotSet) // the script is known now
		client.AddHook(b.scripts)
		set(t, other, "l", "1")
		test(b)
	})
}

// await has n callers wait, and returns when they do.
func (b *bubble) await(ctx context.Context, n int, opts ...redlatch.Option) <-chan error {
	results := make(chan error, n)
	for range n {
		go func() { results <- b.l.Await(ctx, opts...) }()
	}
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	return results
}

func TestOneMessageAndOneScriptReleaseEveryWaiterOfAProcess(t *testing.T) {
	for name, c := range map[string]struct {
		open func(b *bubble) error
		want error
	}{
		"count down": {func(b *bubble) error { return b.other.CountDown(b.Context()) }, nil},
		"delete":     {func(b *bubble) error { _, err := b.other.Delete(b.Context()); return err }, countdownlatch.ErrDeleted},
		"a foreign count-down": {func(b *bubble) error {
			b.redis.Del(b.Context(), "l")
			return b.redis.Publish(b.Context(), "redisson_countdownlatch__channel__{l}", "0").Err()
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				results := b.await(b.Context(), 50)
				b.scripts.sent.Store(0)
				opened := time.Now()
				require.NoError(b, c.open(b))
				for range 50 {
					require.ErrorIs(b, <-results, c.want)
				}
				require.Less(b, time.Since(opened), 50*time.Millisecond, "the message was not enough")
				require.Equal(b, int64(1), b.scripts.sent.Load())
			})
		})
	}
}

func TestADeletionReleasesAWaiterOfAnotherClientByMessage(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		mine, theirs, key := srv.Client(t), srv.Client(t), srv.Key(t, "l")
		set(t, theirs, key, "1")
		result := make(chan error, 1)
		go func() {
			result <- countdownlatch.New(mine, key, briefly.Linger(0), redlatch.WithPoll(long)).Await(t.Context())
		}()
		eventually(t, "the waiter has subscribed", func() bool { return subscribers(t, theirs, key) == 1 })
		_, err := countdownlatch.New(theirs, key, briefly.Linger(0)).Delete(t.Context())
		require.NoError(t, err)
		select {
		case err := <-result:
			require.ErrorIs(t, err, countdownlatch.ErrDeleted)
		case <-time.After(30 * time.Second):
			t.Fatal("no message woke the waiter")
		}
		eventually(t, "nobody is subscribed", func() bool { return subscribers(t, theirs, key) == 0 })
	})
}

func TestACountThatIsNotZeroReleasesNobody(t *testing.T) {
	inBubble(t, func(b *bubble) {
		set(b.T, b.redis, "l", "2")
		results := b.await(b.Context(), 2)
		require.NoError(b, b.other.CountDown(b.Context()))
		require.NoError(b, b.redis.Publish(b.Context(), "redisson_countdownlatch__channel__{l}", "0").Err()) // a lie
		time.Sleep(5 * poll)
		require.Empty(b, results)
		require.NoError(b, b.other.CountDown(b.Context()))
		require.NoError(b, <-results)
		require.NoError(b, <-results)
	})
}

func TestALatchWhoseTTLRunsOutReleasesItsWaiters(t *testing.T) {
	inBubble(t, func(b *bubble) {
		set(b.T, b.redis, "l", "")
		done, err := b.other.TrySetCount(b.Context(), 3, redlatch.WithTTL(20*time.Second))
		require.NoError(b, err)
		require.True(b, done)
		start := time.Now()
		results := b.await(b.Context(), 3)
		for range 3 {
			require.ErrorIs(b, <-results, countdownlatch.ErrExpired)
			require.GreaterOrEqual(b, time.Since(start), 20*time.Second)
			require.LessOrEqual(b, time.Since(start), 20*time.Second+poll)
		}
	})
}

// The head is the one that asks; when it leaves, somebody else has to.
func TestWhenTheWaiterThatAsksIsCancelledTheOthersAreStillReleased(t *testing.T) {
	for at := -2 * time.Millisecond; at <= 2*time.Millisecond; at += 250 * time.Microsecond {
		inBubble(t, func(b *bubble) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			head := b.await(ctx, 1)
			others := b.await(b.Context(), 3)
			open := time.Now().Add(5 * time.Millisecond)
			time.AfterFunc(time.Until(open)+at, cancel)
			time.Sleep(time.Until(open))
			require.NoError(b, b.other.CountDown(b.Context()))
			if err := <-head; err != nil {
				require.ErrorIs(b, err, redlatch.ErrNotAcquired)
				require.ErrorIs(b, err, context.Canceled)
			}
			for range 3 {
				require.NoError(b, <-others)
			}
			require.Less(b, time.Since(open), 50*time.Millisecond, "the others waited for the poll")
		})
	}
}
