package notice_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestANoticeIsForOneOwnerAndForAnHour(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, key, ctx := srv.Client(t), srv.Key(t, "name"), t.Context()
		left, err := statetest.Send(ctx, client, notice.Leave(key, "u:1", "ada\n@ops", "it\nhangs"))
		require.NoError(t, err)
		now, err := client.Time(ctx).Result()
		require.NoError(t, err)

		n := read(t, client, key, "u:1")
		require.Equal(t, "ada @ops", n.Who)
		require.Equal(t, "it hangs", n.Why)
		require.WithinDuration(t, now, n.At, time.Minute)
		require.Equal(t, left, n.At)
		ttl := client.PTTL(ctx, keys.Forced(key)).Val()
		require.Greater(t, ttl, 50*time.Minute)
		require.LessOrEqual(t, ttl, time.Hour)

		require.Nil(t, read(t, client, key, "u:2"))

		withdrawn, err := statetest.Send(ctx, client, notice.Withdraw(key, "u:1"))
		require.NoError(t, err)
		require.True(t, withdrawn)
		withdrawn, err = statetest.Send(ctx, client, notice.Withdraw(key, "u:1"))
		require.NoError(t, err)
		require.False(t, withdrawn)
		require.Zero(t, client.Exists(ctx, keys.Forced(key)).Val())
	})
}

func TestNoticesOfOneNameDoNotPileUp(t *testing.T) {
	srv := redistest.Mini(t)
	client, key, ctx := srv.Client(t), srv.Key(t, "name"), t.Context()
	for i := range 250 {
		_, err := statetest.Send(ctx, client, notice.Leave(key, fmt.Sprint("u:", i), "ada", "it hangs"))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, client.HLen(ctx, keys.Forced(key)).Val(), int64(100))
	require.NotNil(t, read(t, client, key, "u:249"))
}

func TestWhatIsNoNoticeIsNone(t *testing.T) {
	srv := redistest.Mini(t)
	client, key, ctx := srv.Client(t), srv.Key(t, "name"), t.Context()
	require.NoError(t, client.HSet(ctx, keys.Forced(key), "u:1", "x\ny\nz", "u:2", "y").Err())
	for _, owner := range []string{"u:1", "u:2"} {
		require.Nil(t, read(t, client, key, owner))
	}
}

// read is the notice for one owner.
func read(t *testing.T, client *redis.Client, key, owner string) *notice.Notice {
	t.Helper()
	notices, err := statetest.Send(t.Context(), client, notice.Read([]notice.Of{{Key: key, Owner: owner}}))
	require.NoError(t, err)
	require.Len(t, notices, 1)
	return notices[0]
}
