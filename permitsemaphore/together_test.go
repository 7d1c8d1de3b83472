package permitsemaphore_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// releaseTogether has four goroutines release permits whose ids the program has seen, and four others wait for them. The first
// release is under way, until started is closed, when the others come. It returns the errors of the releases, nil of one that has
// panicked, the ids that were seen, and the waiters. The permits are acquired with opts.
func releaseTogether(b *street, pass func(nth int64, execute func() error, started <-chan struct{}) error, opts ...redlatch.Option) (errs []error, seen []string, waiting []<-chan result, g *redistest.Gate) {
	const n = 4
	var permits []*permitsemaphore.Permit
	for range n {
		permits = append(permits, acquire(b, b.s, 1, opts...))
	}
	w := acquiring(b.Context(), b.s, 1)
	b.settle()
	_ = id(permits[0])
	permits[0] = b.next(permits[0], w) // the server knows the script
	for _, p := range permits {
		seen = append(seen, id(p))
	}
	for range n {
		waiting = append(waiting, acquiring(b.Context(), b.s, 1))
		b.settle()
	}
	started := make(chan struct{})
	g = &redistest.Gate{Key: keys.PermitTimeouts("s"), Pass: func(nth int64, execute func() error) error { return pass(nth, execute, started) }}
	b.client.AddHook(g)
	ended := make([]chan error, n)
	for i, p := range permits {
		ended[i] = make(chan error, 1)
		go func() {
			var err error
			defer func() { _ = recover(); ended[i] <- err }()
			err = p.Release(b.Context())
		}()
		synctest.Wait() // the first is under way, the second waits for it
	}
	close(started)
	for _, e := range ended {
		errs = append(errs, <-e)
	}
	return errs, seen, waiting, g
}

// served takes the permits of waiters, whose ids are no one else's, and gives them back.
func served(b *street, seen []string, waiting []<-chan result) {
	ids := slices.Clone(seen)
	var all []*permitsemaphore.Permit
	for _, w := range waiting {
		p := receive(b, w)
		require.True(b, p.Valid())
		require.NotContains(b, ids, id(p))
		require.Positive(b, score(b, b.redis, "s", id(p)))
		all, ids = append(all, p), append(ids, id(p))
	}
	for _, id := range seen {
		require.Zero(b, score(b, b.redis, "s", id))
	}
	for _, p := range all {
		require.NoError(b, p.Release(b.Context()))
	}
}

func TestReleasesThatComeTogetherShareACommand(t *testing.T) {
	inStreet(t, 4, func(b *street) {
		errs, seen, waiting, g := releaseTogether(b, func(nth int64, execute func() error, started <-chan struct{}) error {
			if nth == 0 {
				<-started
			}
			return execute()
		})
		require.Equal(b, make([]error, 4), errs)
		require.EqualValues(b, 2, g.Sent.Load())
		served(b, seen, waiting)
		requireState(b, b.redis, "s", "4", 0)
	})
}

// One whose limit differs from that of its semaphore would wait as long as the call that sends for it.
func TestReleasesWithATimeLimitOfTheirOwnShareNoCommand(t *testing.T) {
	inStreet(t, 4, func(b *street) {
		errs, seen, waiting, g := releaseTogether(b, func(nth int64, execute func() error, started <-chan struct{}) error {
			if nth == 0 {
				<-started
			}
			return execute()
		}, redlatch.WithReleaseTimeout(time.Second))
		require.Equal(b, make([]error, 4), errs)
		require.Greater(b, g.Sent.Load(), int64(2))
		served(b, seen, waiting)
		requireState(b, b.redis, "s", "4", 0)
	})
}

func TestOfReleasesThatComeTogetherThatOneFailsWhosePermitIsGone(t *testing.T) {
	inStreet(t, 4, func(b *street) {
		var lost string
		errs, seen, waiting, _ := releaseTogether(b, func(nth int64, execute func() error, started <-chan struct{}) error {
			if nth == 0 {
				<-started
				all := b.redis.ZRange(b.Context(), keys.PermitTimeouts("s"), 0, -1).Val()
				lost = all[len(all)-1] // of the one that came last
				require.NoError(b, b.redis.ZRem(b.Context(), keys.PermitTimeouts("s"), lost).Err())
			}
			return execute()
		})
		failed := 0
		for _, err := range errs {
			if err != nil {
				require.ErrorIs(b, err, redlatch.ErrLost)
				failed++
			}
		}
		require.Equal(b, 1, failed)
		served(b, seen, waiting[:3])
		require.NoError(b, receive(b, waiting[3]).Release(b.Context()))
		requireState(b, b.redis, "s", "3", 0)
	})
}

func TestReleasesThatCameTogetherLoseNoPermitIfTheReplyIsLost(t *testing.T) {
	inStreet(t, 4, func(b *street) {
		errs, seen, waiting, g := releaseTogether(b, func(nth int64, execute func() error, started <-chan struct{}) error {
			switch nth {
			case 0:
				<-started
			case 1:
				return errors.Join(execute(), errors.New("read: connection reset by peer"))
			}
			return execute()
		})
		require.Equal(b, make([]error, 4), errs)
		require.Greater(b, g.Sent.Load(), int64(2))
		served(b, seen, waiting)
		requireState(b, b.redis, "s", "4", 0)
	})
}

func TestReleasesThatCameTogetherAreCarriedThroughIfAHookPanics(t *testing.T) {
	for _, executed := range []bool{false, true} {
		inStreet(t, 4, func(b *street) {
			errs, _, waiting, _ := releaseTogether(b, func(nth int64, execute func() error, started <-chan struct{}) error {
				switch nth {
				case 0:
					<-started
				case 1:
					if executed {
						_ = execute()
					}
					panic("a hook of the client")
				}
				return execute()
			})
			uncertain := 0
			for _, err := range errs {
				if err != nil {
					require.ErrorIs(b, err, redlatch.ErrUncertain)
					uncertain++
				}
			}
			require.Equal(b, 2, uncertain, "all but the first, and the one that has sent")
			for _, w := range waiting {
				require.NoError(b, receive(b, w).Release(b.Context()))
			}
			eventually(b, "all permits are back", func() bool { v, n := state(b, b.redis, "s"); return v == "4" && n == 0 })
		})
	}
}
