package entry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAReportAnswersWhetherSomebodyLooks(t *testing.T) {
	each(t, func(b *bench) {
		require.False(b, b.write(whole).Watched)
		for ttl, want := range map[time.Duration]bool{10 * time.Second: true, time.Hour: false, 0: false} {
			require.NoError(b, b.rdb.Set(b.Context(), b.names.Watched, "", ttl).Err())
			require.Equal(b, want, b.write(whole).Watched, "a key that lasts %v", ttl)
		}
		require.NoError(b, b.rdb.Del(b.Context(), b.names.Watched).Err())
		require.NoError(b, b.rdb.RPush(b.Context(), b.names.Watched, "theirs").Err())
		require.False(b, b.write(whole).Watched)
		require.EqualValues(b, 1, b.rdb.LLen(b.Context(), b.names.Watched).Val())
	})
}
