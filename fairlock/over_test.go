package fairlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
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
				patient := fairlock.WithPatience(time.Hour)
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

// A process was suspended, or its connection hung, when it was handed the lock. Its waiters join the end of the queue.
func TestWhoHearsTooLateThatItWasHandedTheLockStandsAgain(t *testing.T) {
	bubble(t, 1, func(w *world) {
		process := w.proxied()
		rarely := []redlatch.Option{redlatch.WithPoll(time.Hour), fairlock.WithPatience(24 * time.Hour)}
		before, err := w.lock(0).Lock(w.Context())
		require.NoError(w, err)
		first := w.stands(1, "first", rarely...)
		last := w.stands(0, "last")
		time.Sleep(time.Second) // the first listens to all of its channels
		process.HoldMessages(true)
		require.NoError(w, before.Unlock(w.Context()))
		require.NoError(w, <-last)
		process.HoldMessages(false)
		require.NoError(w, within(time.Second, first))
		require.Equal(w, []string{"last", "first"}, w.served())
		synctest.Wait()
		require.Empty(w, w.mini.Keys())
	})
}

// The message of a pass comes when the process trusts the lease of the pass no longer. The server still keeps that lease, so the waiter
// asks and holds.
func TestWhoHearsAtTheLastMomentThatItWasHandedTheLockHasIt(t *testing.T) {
	bubble(t, 1, func(w *world) {
		process := w.proxied()
		before, err := w.lock(0).Lock(w.Context())
		require.NoError(w, err)
		first := w.stands(1, "first", redlatch.WithPoll(time.Hour), fairlock.WithPatience(24*time.Hour))
		last := w.stands(0, "last", redlatch.WithPoll(time.Hour), fairlock.WithPatience(24*time.Hour))
		time.Sleep(time.Second)
		process.HoldMessages(true)
		require.NoError(w, before.Unlock(w.Context()))
		time.Sleep(9950 * time.Millisecond)
		process.HoldMessages(false)
		require.NoError(w, within(time.Millisecond, first))
		require.NoError(w, within(time.Second, last))
		require.Equal(w, []string{"first", "last"}, w.served())
	})
}

// A process knows of a force-unlock of its own before the message comes.
func TestAForceUnlockByTheProcessItselfEndsItsRowAtOnce(t *testing.T) {
	bubble(t, 1, func(w *world) {
		process := w.proxied()
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		forced := make(chan error, 1)
		go func() {
			forced <- w.lock(1).Do(w.Context(), func(context.Context) error {
				process.HoldMessages(true)
				_, err := w.lock(1).ForceUnlock(w.Context())
				return err
			})
		}()
		time.Sleep(3 * time.Millisecond)
		second := w.stands(1, "second")
		require.NoError(t, hold.Unlock(w.Context()))
		require.ErrorIs(t, <-forced, redlatch.ErrLost)
		process.HoldMessages(false)
		require.NoError(t, <-second)
	})
}
