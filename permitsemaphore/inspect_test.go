package permitsemaphore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

func TestInspectTellsWhoHasThePermits(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s, client := fresh(t, srv, 5)
		other := permitsemaphore.New(srv.Client(t), s.Name(), briefly.Linger(0))
		before := time.Now()
		p := acquire(t, s, 2)
		q := acquire(t, other, 1, permitsemaphore.WithoutExpiry())
		info, err := s.Inspect(t.Context())
		require.NoError(t, err)
		require.Equal(t, []any{s.Name(), s.Name(), redlatch.KindPermitSemaphore, true, int64(2), int64(5)},
			[]any{info.Name, info.Key, info.Kind, info.Exists, info.Value, info.Total})
		require.Negative(t, info.TTL)
		require.Zero(t, info.Waiters)
		require.Len(t, info.Holders, 3)
		for _, h := range info.Holders {
			require.EqualValues(t, 1, h.Holds)
			if h.Owner == id(q) {
				require.Equal(t, redlatch.Holder{Owner: id(q), Holds: 1, TTL: permitsemaphore.NoExpiry}, h)
				continue
			}
			require.Contains(t, p.IDs(), h.Owner)
			require.True(t, h.Own)
			require.Greater(t, h.TTL, time.Duration(0))
			require.False(t, h.Since.Before(before) || h.Since.After(time.Now()))
		}
		waits := acquiring(t.Context(), s, 4)
		eventually(t, "it waits", func() bool { info, err := s.Inspect(t.Context()); return err == nil && info.Waiters == 1 })
		require.NoError(t, p.Release(t.Context()))
		require.NoError(t, receive(t, waits).Release(t.Context()))
		require.NoError(t, q.Release(t.Context()))
		require.NoError(t, client.Del(t.Context(), s.Name()).Err())
		info, err = s.Inspect(t.Context())
		require.NoError(t, err)
		require.Equal(t, redlatch.Info{Name: s.Name(), Key: s.Name(), Kind: "permit_semaphore"}, info)
	})
}

// What a refusal says of the number of permits.
func TestAnErrorTellsOfPermitsThatAreNotThere(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s := permitsemaphore.New(srv.Client(t), srv.Key(t, "s"), briefly.Linger(0))
		said := func(n int64, text string) {
			t.Helper()
			_, try := s.TryAcquire(ctx, n)
			_, wait := s.Acquire(ctx, n, redlatch.WithWait(time.Second))
			for _, err := range []error{try, wait} {
				require.ErrorIs(t, err, redlatch.ErrNotAcquired)
				require.ErrorContains(t, err, text)
			}
		}
		said(1, "never set up, has expired or was deleted; give New WithPermits, or call TrySetPermits")
		require.NoError(t, s.SetPermits(ctx, 3))
		p := acquire(t, s, 2)
		said(5, "has 3 permits in all, and 5 are wanted")
		_, err := s.TryAcquire(ctx, 2)
		require.ErrorContains(t, err, "has too few permits left, and 2 are wanted")
		require.NoError(t, p.Release(ctx))
	})
}
