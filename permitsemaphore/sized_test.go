package permitsemaphore_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// A notebook is a log, line by line.
type notebook struct {
	mu    sync.Mutex
	lines []string
}

func (n *notebook) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, string(line))
	return len(line), nil
}

func (n *notebook) option() redlatch.Option {
	return redlatch.WithLogger(slog.New(slog.NewTextHandler(n, nil)))
}

// says requires that there is one line, with the text in it.
func (n *notebook) says(t testing.TB, text string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	require.Len(t, n.lines, 1)
	require.True(t, strings.Contains(n.lines[0], text), n.lines[0])
}

func TestTheFirstAcquireSetsUpASemaphoreThatKnowsItsSize(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		var log notebook
		s := permitsemaphore.New(client, key, briefly.Linger(0), log.option(), permitsemaphore.WithPermits(5), redlatch.WithTTL(long))
		total, err := s.TotalPermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 5, total)
		available, err := s.AvailablePermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 5, available)
		require.Empty(t, srv.Keys(t), "who only looks sets up nothing")
		p, err := s.Acquire(ctx, 2)
		require.NoError(t, err)
		requireState(t, client, key, "3", 2)
		require.Positive(t, client.PTTL(ctx, key).Val())
		for range 3 {
			require.NoError(t, acquire(t, s, 1).Release(ctx))
		}
		require.NoError(t, p.Release(ctx))
		requireState(t, client, key, "5", 0)
		require.Empty(t, log.lines)
	})
}

func TestASemaphoreComesBackWholeAfterALossOfData(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := permitsemaphore.New(client, key, briefly.Linger(0), permitsemaphore.WithPermits(5))
		flush := func() { require.NoError(t, client.Del(ctx, srv.Keys(t)...).Err()) }
		p := acquire(t, s, 2)
		flush()
		q, err := s.Acquire(ctx, 5)
		require.NoError(t, err)
		require.ErrorIs(t, p.Release(ctx), redlatch.ErrLost, "what it had is gone, and makes no permits")
		require.NoError(t, q.Release(ctx))
		requireState(t, client, key, "5", 0)
		flush()
		total, err := s.AddPermits(ctx, 2)
		require.NoError(t, err)
		require.EqualValues(t, 7, total)
	})
}

func TestWhatIsThereWinsAndIsLoggedOnceIfItIsAnotherNumber(t *testing.T) {
	for _, there := range []int64{3, 9} {
		t.Run(fmt.Sprint(there), func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				before, client := fresh(t, srv, there)
				var log notebook
				s := permitsemaphore.New(client, before.Name(), briefly.Linger(0), log.option(), permitsemaphore.WithPermits(5))
				p := acquire(t, s, 1)
				require.NoError(t, acquire(t, s, 2).Release(t.Context()))
				requireState(t, client, s.Name(), fmt.Sprint(there-1), 1)
				require.NoError(t, p.Release(t.Context()))
				log.says(t, fmt.Sprintf("has %d permits in Redis, and the option WithPermits says 5", there))
			})
		})
	}
}

func TestARefusalByASemaphoreThatWasNeverSetUpIsLoggedOnce(t *testing.T) {
	var log notebook
	s := permitsemaphore.New(redistest.Mini(t).Client(t), "s", briefly.Linger(0), log.option())
	for range 3 {
		_, err := s.TryAcquire(t.Context(), 1)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	}
	log.says(t, "it was never set up, has expired or was deleted; give New the option WithPermits, or call TrySetPermits")
}

func TestACallForMoreThanThereAreIsInvalidAtOnce(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := permitsemaphore.New(client, key, briefly.Linger(0), permitsemaphore.WithPermits(5))
		all := func(n int64, text string) {
			t.Helper()
			_, err := s.Acquire(ctx, n)
			_, try := s.TryAcquire(ctx, n)
			_, tryDo := s.TryDo(ctx, n, func(context.Context) error { panic("fn runs") })
			for _, err := range []error{err, try, tryDo} {
				require.ErrorIs(t, err, redlatch.ErrInvalid)
				require.ErrorContains(t, err, text)
			}
		}
		before := srv.Commands(t)
		all(6, "has 5 permits, by its option WithPermits; ask for at most so many, or give New a larger number")
		require.Equal(t, before, srv.Commands(t))
		require.NoError(t, s.SetPermits(ctx, 3))
		p := acquire(t, s, 1)
		all(4, "has 3 permits in all, and 4 are wanted; ask for fewer, or set their number to the 5 of WithPermits by SetPermits")
		require.NoError(t, p.Release(ctx))
		requireState(t, client, key, "3", 0)
	})
}

// Its wait would not end.
func TestAWaiterIsToldWhenThereAreNoLongerAsManyPermits(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := permitsemaphore.New(client, key, briefly.Linger(0), redlatch.WithPoll(100*time.Millisecond), permitsemaphore.WithPermits(5))
		p := acquire(t, s, 2)
		defer p.Release(ctx)
		large := acquiring(ctx, s, 4)
		eventually(t, "it waits", func() bool { info, err := s.Inspect(ctx); return err == nil && info.Waiters == 1 })
		require.NoError(t, s.SetPermits(ctx, 3))
		require.ErrorIs(t, (<-large).err, redlatch.ErrInvalid)
	})
}

func TestWaitersSetUpASemaphoreThatIsGone(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := permitsemaphore.New(client, key, briefly.Linger(0), redlatch.WithPoll(100*time.Millisecond), permitsemaphore.WithPermits(2))
		p := acquire(t, s, 2)
		waits := acquiring(ctx, s, 2)
		eventually(t, "it waits", func() bool { info, err := s.Inspect(ctx); return err == nil && info.Waiters == 1 })
		_, err := s.Delete(ctx)
		require.NoError(t, err)
		q := receive(t, waits)
		require.ErrorIs(t, p.Release(ctx), redlatch.ErrLost)
		requireState(t, client, key, "0", 2)
		require.NoError(t, q.Release(ctx))
		requireState(t, client, key, "2", 0)
	})
}

func TestWhenTheAnswerIsLostASemaphoreIsSetUpOnce(t *testing.T) {
	for name, fault := range map[string]faultproxy.Action{"the reply is lost": faultproxy.DropReply, "the request is lost": faultproxy.DropRequest,
		"cut before it is executed": faultproxy.CloseBefore, "cut after": faultproxy.CloseAfter} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				r := newRig(t, srv, brief)
				s := permitsemaphore.New(r.faulty, srv.Key(t, "known"), briefly.Linger(0), permitsemaphore.WithPermits(5))
				require.NoError(t, acquire(t, s, 1).Release(t.Context())) // the server knows the script
				key := srv.Key(t, "s")
				s = permitsemaphore.New(r.faulty, key, briefly.Linger(0), permitsemaphore.WithPermits(5))
				rule := r.proxy.On(onCall(key), 1, fault)
				p, err := s.Acquire(t.Context(), 1)
				require.NoError(t, err)
				require.EqualValues(t, 1, rule.Hits())
				requireState(t, r.direct, key, "4", 1)
				require.NoError(t, p.Release(t.Context()))
			})
		})
	}
}
