package suite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

// What a program has given back and WithAtLeast keeps stays in its entry, with a mark, until the time is over.
func TestWhatWithAtLeastKeepsIsMarkedInTheEntry(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		reader := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = reader.Close() })
		require.NoError(t, redlatch.Configure(reader, redlatch.WithoutRegistry()))
		marked := func() (all []string) {
			for _, e := range entries(t, reader, "") {
				for _, thing := range e.things {
					for _, o := range thing.Owners {
						all = append(all, fmt.Sprint(thing.Key, " ", o.Kept))
					}
				}
			}
			slices.Sort(all)
			return all
		}
		nightly := acquired(t, rlock.New(client, "nightly"), redlatch.WithAtLeast(10*time.Minute))
		soon := acquired(t, fairlock.New(client, "soon"), redlatch.WithAtLeast(10*time.Minute))
		require.NoError(t, soon.Unlock(t.Context())) // before any report
		other := acquired(t, rwlock.New(client, "other").Writer())
		time.Sleep(7 * time.Second)
		require.Equal(t, []string{"nightly false", "other false", "soon true"}, marked())
		require.NoError(t, nightly.Unlock(t.Context()))
		time.Sleep(7 * time.Second)
		require.Equal(t, []string{"nightly true", "other false", "soon true"}, marked())
		require.NoError(t, other.Unlock(t.Context()))
		time.Sleep(9 * time.Minute)
		require.Equal(t, []string{"nightly true", "soon true"}, marked())
		object, err := fleet.Get(t.Context(), reader, redlatch.KindLock, "nightly")
		require.NoError(t, err)
		require.True(t, object.Holders[0].Kept)
		require.WithinDuration(t, time.Now().Add(-9*time.Minute-14*time.Second), object.Holders[0].Since, time.Second)
		_, err = object.Holders[0].Ask(t.Context(), fleet.Notice{Who: "ada", Why: "x"}, time.Second)
		require.ErrorContains(t, err, "its program has given it back already")
		time.Sleep(2 * time.Minute)
		require.Empty(t, marked())
		require.Zero(t, reader.Exists(t.Context(), "nightly", "soon").Val())
	})
}
