package sides_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/sides"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Readers of a process look at the one that asks for all, before it has an answer. With the last hold the streak is the releaser's, which
// needs no mutex for it.
func TestAStreakBeginsWithTheHoldAndNotWithALookAtItsOwner(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		kind := locking.HandingOver(locking.Plain())
		lock := baselock.New(client, "lock", &kind,
			[]redlatch.Option{briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler))})
		hold, began, late, err := sides.LookedAt(t.Context(), lock)
		require.NoError(t, err)
		require.False(t, late)
		require.WithinDuration(t, time.Now(), began, time.Millisecond)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}
