package countdownlatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestInspectTellsWhatThereIs(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "l")
		l := countdownlatch.New(client, key, briefly.Linger(0))
		look := func() redlatch.Info {
			t.Helper()
			info, err := l.Inspect(ctx)
			require.NoError(t, err)
			return info
		}
		want := redlatch.Info{Name: key, Key: key, Kind: "latch"}
		require.Equal(t, want, look())
		trySetTo(t, l, 2, redlatch.WithTTL(time.Hour))
		info := look()
		require.Greater(t, info.TTL, time.Hour-time.Minute)
		want.Exists, want.Value, want.TTL = true, 2, info.TTL
		require.Equal(t, want, info)
		done := make(chan error, 2)
		for range cap(done) {
			go func() { done <- l.Await(ctx) }()
		}
		eventually(t, "both wait", func() bool { return look().Waiters == 2 })
		deleted(t, l)
		for range cap(done) {
			require.ErrorIs(t, <-done, countdownlatch.ErrDeleted)
		}
		require.Equal(t, redlatch.Info{Name: key, Key: key, Kind: "latch"}, look())
		set(t, client, key, "-3")
		require.Zero(t, look().Value)
		require.True(t, look().Exists)
	})
}
