package semaphore_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

func TestTheFirstAcquireSetsUpASemaphoreThatKnowsItsSize(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := semaphore.New(client, key, briefly.Linger(0), semaphore.WithPermits(5), redlatch.WithTTL(long))
		available, err := s.AvailablePermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 5, available)
		require.Empty(t, srv.Keys(t), "who only looks sets up nothing")
		require.NoError(t, s.Acquire(ctx, 2))
		require.Equal(t, "3", value(t, client, key))
		require.Positive(t, client.PTTL(ctx, key).Val())
		require.NoError(t, s.TryAcquire(ctx, 3))
		require.ErrorIs(t, s.TryAcquire(ctx, 1), redlatch.ErrNotAcquired)
		require.NoError(t, s.Release(ctx, 5))
		require.Equal(t, "5", value(t, client, key))
		set, err := s.TrySetPermits(ctx, 7)
		require.NoError(t, err)
		require.False(t, set, "what is there wins")
	})
}

// An acquisition sends one command, whether the semaphore is there or not; another semaphore sends what it
// always did.
func TestToSetUpASemaphoreCostsNoCommand(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := t.Context(), srv.Client(t)
	for range 2 { // the server knows the scripts the second time
		s := semaphore.New(client, "s", semaphore.WithPermits(5))
		require.NoError(t, s.Acquire(ctx, 1))
		require.NoError(t, s.Release(ctx, 1))
		require.NoError(t, client.Del(ctx, "s").Err())
	}
	s := semaphore.New(client, "s", semaphore.WithPermits(5))
	before := srv.Scripts(t)
	require.NoError(t, s.Acquire(ctx, 1))
	require.NoError(t, s.Acquire(ctx, 1))
	require.NoError(t, s.Release(ctx, 2))
	require.EqualValues(t, 3, srv.Scripts(t)-before)
}

func TestASemaphoreComesBackWholeAfterALossOfData(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := semaphore.New(client, key, briefly.Linger(0), semaphore.WithPermits(5))
		require.NoError(t, s.Acquire(ctx, 2))
		require.NoError(t, client.Del(ctx, key).Err())
		require.NoError(t, s.Release(ctx, 2), "of one that is gone")
		require.Equal(t, "", value(t, client, key), "else it would come back with two")
		require.NoError(t, s.Acquire(ctx, 5))
		require.NoError(t, s.Release(ctx, 5))
		require.Equal(t, "5", value(t, client, key))

		require.NoError(t, client.Del(ctx, key).Err())
		total, err := s.AddPermits(ctx, 2)
		require.NoError(t, err)
		require.EqualValues(t, 7, total)
		require.NoError(t, client.Del(ctx, key).Err())
		drained, err := s.DrainPermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 5, drained)
		require.ErrorIs(t, s.TryAcquire(ctx, 1), redlatch.ErrNotAcquired)
	})
}

func TestACallForMoreThanThereAreIsInvalidAtOnce(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, s := t.Context(), semaphore.New(srv.Client(t), "s", semaphore.WithPermits(5))
	work := func(context.Context) error { panic("fn runs") }
	before := srv.Commands(t)
	_, tryDo := s.TryDo(ctx, 6, work)
	for _, err := range []error{s.Acquire(ctx, 6), s.TryAcquire(ctx, 6), s.Do(ctx, 6, work), tryDo} {
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.ErrorContains(t, err, `semaphore "s" has 5 permits, by its option WithPermits; ask for at most so many`)
	}
	one := semaphore.New(srv.Client(t), "one", semaphore.WithPermits(1))
	require.ErrorContains(t, one.TryAcquire(ctx, 2), `semaphore "one" has 1 permit, by its option WithPermits`)
	require.Equal(t, before, srv.Commands(t))
}

func TestWithPermitsIsAnOptionOfNewOfSemaphores(t *testing.T) {
	client, ctx := redistest.Mini(t).Client(t), t.Context()
	for _, n := range []int64{-1, 0, 1 << 31} {
		err := semaphore.New(client, "s", semaphore.WithPermits(n)).Acquire(ctx, 1)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.ErrorContains(t, err, "WithPermits(")
	}
	err := semaphore.New(client, "s").Acquire(ctx, 1, semaphore.WithPermits(1))
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.ErrorContains(t, err, "WithPermits is an option of New and counts for all calls; give it there")
	_, err = rlock.New(client, "l", semaphore.WithPermits(1)).Lock(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.ErrorContains(t, err, "WithPermits is for semaphore and permitsemaphore and does not apply to a lock")
}

// logged is an option by which a log is written, and how many of its lines have a text.
func logged() (redlatch.Option, func(text string) int) {
	var mu sync.Mutex
	var log bytes.Buffer
	return redlatch.WithLogger(slog.New(slog.NewTextHandler(writer(func(line []byte) {
			mu.Lock()
			defer mu.Unlock()
			log.Write(line)
		}), nil))), func(text string) int {
			mu.Lock()
			defer mu.Unlock()
			return strings.Count(log.String(), text)
		}
}

type writer func(line []byte)

func (w writer) Write(line []byte) (int, error) { w(line); return len(line), nil }

func TestAnotherNumberThanThatOfNewIsLoggedOnce(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		set(t, client, key, 9)
		log, lines := logged()
		s := semaphore.New(client, key, briefly.Linger(0), log, semaphore.WithPermits(5))
		require.NoError(t, s.Acquire(ctx, 1))
		require.NoError(t, s.Acquire(ctx, 1))
		require.Equal(t, "7", value(t, client, key), "what is there wins")
		require.Equal(t, 1, lines("has 9 permits in Redis, and the option WithPermits says 5"))
		require.Equal(t, 1, lines("\n"))
	})
}

func TestARefusalByASemaphoreThatWasNeverSetUpIsLoggedOnce(t *testing.T) {
	client, ctx := redistest.Mini(t).Client(t), t.Context()
	log, lines := logged()
	s := semaphore.New(client, "s", briefly.Linger(0), log)
	for range 3 {
		require.ErrorIs(t, s.TryAcquire(ctx, 1), redlatch.ErrNotAcquired)
	}
	require.ErrorIs(t, s.Acquire(ctx, 1, redlatch.WithWait(10*time.Millisecond)), redlatch.ErrNotAcquired)
	require.Equal(t, 1, lines("it was never set up, has expired or was deleted; give New the option WithPermits, or call TrySetPermits"))
	require.Equal(t, 1, lines("\n"))
	require.Equal(t, 1, lines("lock.name=s lock.primitive=semaphore"))
}

// Those who wait find out when they ask the next time, and serve themselves. One that does not know the size
// is told of what is left.
func TestWaitersSetUpASemaphoreThatIsGone(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		unsized := b.acquire(b.Context(), "unsized", 1)
		sized := make(chan error, 2)
		s := semaphore.New(b.redis, "s", briefly.Linger(0), redlatch.WithPoll(poll), semaphore.WithPermits(3))
		for range cap(sized) {
			go func() { sized <- s.Acquire(b.Context(), 1) }()
		}
		b.settle()
		_, err := b.other.Delete(b.Context())
		require.NoError(b, err)
		gone := time.Now()
		require.NoError(b, <-sized)
		require.NoError(b, <-sized)
		require.LessOrEqual(b, time.Since(gone), poll+100*time.Millisecond)
		require.NoError(b, <-unsized)
		require.LessOrEqual(b, time.Since(gone), poll+200*time.Millisecond, "it was told")
		require.Equal(b, "0", value(b.T, b.redis, "s"))
	})
}

// One who does not know the size stands in front of one who does.
func TestASemaphoreIsSetUpByOneBehindTheHead(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		first := semaphore.New(client, "s", briefly.Linger(0), redlatch.WithPoll(poll))
		second := semaphore.New(client, "s", briefly.Linger(0), redlatch.WithPoll(poll), semaphore.WithPermits(2))
		served := make(chan error, 2)
		go func() { served <- first.Acquire(t.Context(), 1) }()
		time.Sleep(100 * time.Millisecond)
		go func() { served <- second.Acquire(t.Context(), 1) }()
		require.NoError(t, <-served)
		require.NoError(t, <-served)
		synctest.Wait()
		require.Equal(t, "0", value(t, client, "s"))
		time.Sleep(10 * time.Millisecond)
	})
}

func TestWhenTheAnswerIsLostASemaphoreIsSetUpOnce(t *testing.T) {
	for name, fault := range map[string]faultproxy.Action{"the reply is lost": faultproxy.DropReply, "the request is lost": faultproxy.DropRequest,
		"cut before it is executed": faultproxy.CloseBefore, "cut after": faultproxy.CloseAfter} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				r := newRig(t, srv, 200*time.Millisecond)
				key := srv.Key(t, "s")
				s := semaphore.New(r.faulty, srv.Key(t, "known"), briefly.Linger(0), semaphore.WithPermits(5))
				require.NoError(t, s.Acquire(t.Context(), 1)) // the server knows the script
				s = semaphore.New(r.faulty, key, briefly.Linger(0), semaphore.WithPermits(5))
				rule := r.proxy.On(onCall(key), 1, fault)
				require.NoError(t, s.Acquire(t.Context(), 2))
				require.EqualValues(t, 1, rule.Hits())
				require.Equal(t, "3", value(t, r.direct, key))
			})
		})
	}
}
