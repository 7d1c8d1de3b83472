package countdownlatch_test

import (
	"errors"
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

// together makes a latch of that count, and calls CountDown so many times: the later calls come while the first is under way. It returns
// what each call returned, or nil for a call that has panicked.
func together(t *testing.T, count int64, calls int, pass func(nth int64, execute func() error, first <-chan struct{}) error) (errs []error, g *redistest.Gate, client *redis.Client) {
	t.Helper()
	_, client = redistest.InMemory(t)
	l := countdownlatch.New(client, "l", briefly.Linger(0))
	_, err := l.TrySetCount(t.Context(), count+2)
	require.NoError(t, err)
	require.NoError(t, l.CountDown(t.Context())) // the server knows the scripts
	require.NoError(t, l.CountDown(t.Context()))
	first := make(chan struct{})
	g = &redistest.Gate{Key: "l", Pass: func(nth int64, execute func() error) error { return pass(nth, execute, first) }}
	client.AddHook(g)
	ended := make(chan error, calls)
	for range calls {
		go func() {
			defer func() {
				if recover() != nil {
					ended <- nil
				}
			}()
			ended <- l.CountDown(t.Context())
		}()
		synctest.Wait() // the first is under way, the second waits for it
	}
	close(first)
	for range calls {
		errs = append(errs, <-ended)
	}
	return errs, g, client
}

func TestCountDownsThatComeTogetherShareACommand(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		errs, g, client := together(t, 12, 10, func(nth int64, execute func() error, first <-chan struct{}) error {
			if nth == 0 {
				<-first
			}
			return execute()
		})
		require.Equal(t, make([]error, 10), errs)
		require.EqualValues(t, 2, g.Sent.Load())
		require.Equal(t, "2", value(t, client, "l"))
	})
}

func TestCountDownsDoNotWaitForOneThatHangs(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		l := countdownlatch.New(client, "l", briefly.Linger(0))
		_, err := l.TrySetCount(t.Context(), 9)
		require.NoError(t, err)
		require.NoError(t, l.CountDown(t.Context()))
		hang := make(chan struct{})
		g := &redistest.Gate{Key: "l", Pass: func(nth int64, execute func() error) error {
			if nth == 0 {
				<-hang
			}
			return execute()
		}}
		client.AddHook(g)
		late := make(chan error)
		go func() { late <- l.CountDown(t.Context()) }()
		synctest.Wait()
		start := time.Now()
		require.NoError(t, l.CountDown(t.Context()))
		require.LessOrEqual(t, time.Since(start), 50*time.Millisecond)
		require.Equal(t, "7", value(t, client, "l"))
		close(hang)
		require.NoError(t, <-late)
		require.Equal(t, "6", value(t, client, "l"))
	})
}

func TestCountDownsThatCameTogetherCountOnceIfTheReplyIsLost(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		errs, g, client := together(t, 12, 10, func(nth int64, execute func() error, first <-chan struct{}) error {
			switch nth {
			case 0:
				<-first
			case 1:
				return errors.Join(execute(), errors.New("read: connection reset by peer"))
			}
			return execute()
		})
		require.Equal(t, make([]error, 10), errs)
		require.Greater(t, g.Sent.Load(), int64(2))
		require.Equal(t, "2", value(t, client, "l"))
	})
}

func TestCountDownsThatCameTogetherAreCarriedThroughIfAHookPanics(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		errs, _, client := together(t, 12, 10, func(nth int64, execute func() error, first <-chan struct{}) error {
			switch nth {
			case 0:
				<-first
			case 1:
				panic("a hook of the client")
			}
			return execute()
		})
		uncertain := 0
		for _, err := range errs {
			if err != nil {
				require.ErrorIs(t, err, redlatch.ErrUncertain)
				uncertain++
			}
		}
		require.Equal(t, 8, uncertain, "all but the first, and the one that has sent")
		eventually(t, "they are carried through", func() bool { return value(t, client, "l") == "2" })
	})
}
