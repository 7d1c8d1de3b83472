package fairlock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
)

// A row ends without a release: its holder is lost and does not know until its watchdog asks, or it leaves the lock to its lease. The
// entries of those that were served in the row stand before all others, and their process has no command more that would remove them.
func TestARowThatEndsWithoutAReleaseBlocksNobody(t *testing.T) {
	for how, ends := range map[string]func(w *world, hold *redlatch.Hold){
		"it is lost": func(w *world, hold *redlatch.Hold) {
			w.mini.Del(name)
			<-hold.Context(w.Context()).Done()
		},
		"it is left": func(w *world, hold *redlatch.Hold) {
			hold.Leave()
			time.Sleep(w.mini.TTL(name))
		},
	} {
		t.Run(how, func(t *testing.T) {
			bubble(t, 2, func(w *world) {
				before, err := w.lock(1).Lock(w.Context())
				require.NoError(w, err)
				patient := redlatch.WithPatience(time.Hour)
				first := w.stands(0, "first", patient)
				var hold *redlatch.Hold
				got := make(chan error)
				go func() {
					var err error
					hold, err = w.lock(0, patient).Lock(w.Context())
					got <- err
				}()
				time.Sleep(3 * time.Millisecond)
				synctest.Wait()
				last := w.stands(1, "last")
				require.NoError(w, before.Unlock(w.Context()))
				require.NoError(w, <-first)
				require.NoError(w, <-got)
				entries, err := w.mini.List(keys.FairQueue(name))
				require.NoError(w, err)
				require.Len(w, entries, 2, "those of the holder, which was served in the row, and of the last")
				ends(w, hold)
				require.NoError(w, within(time.Second, last))
				require.Empty(w, w.mini.Keys())
				if how == "it is lost" {
					require.ErrorIs(w, hold.Unlock(w.Context()), redlatch.ErrLost)
				}
			})
		})
	}
}

var errLate = errors.New("nothing came in time")

// within answers what comes on a channel in time, or that nothing did.
func within(d time.Duration, c <-chan error) error {
	select {
	case err := <-c:
		return err
	case <-time.After(d):
		return errLate
	}
}
