package redlatchtest_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/rlock"
)

// here is the place of the line above its caller's.
func above() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line-1)
}

// The tests of this file look at the whole process, so none of them is parallel.

func TestWhatIsNotGivenBackIsNamed(t *testing.T) {
	for _, first := range []string{"NothingHeld", "Run"} {
		var place, owner string
		text := failure(t, func(tb testing.TB) {
			if first == "NothingHeld" {
				redlatchtest.NothingHeld(tb)
			}
			server := redlatchtest.Run(tb)
			if first == "Run" {
				redlatchtest.NothingHeld(tb)
			}
			take(t, lock(server.Client())).Unlock(t.Context())
			hold := take(t, rlock.New(server.Client(), "bills", briefly.Linger(0)))
			owner = hold.Owner()
			kept, err := rlock.New(server.Client(), "kept").TryLock(t.Context())
			place = above()
			require.NoError(t, err)
			_ = kept
		})
		require.Contains(t, text, `"bills" is still held by `+owner, first)
		require.Contains(t, text, `"kept" is still held by `, first)
		require.Contains(t, text, "acquired at "+place, first)
		require.NotContains(t, text, "orders", first)
	}
}

func TestWhatOthersHaveLeftIsNotSaidTwice(t *testing.T) {
	server := redlatchtest.Run(t)
	hold := take(t, lock(server.Client()))
	require.Empty(t, failure(t, func(tb testing.TB) { redlatchtest.NothingHeld(tb) }), "it was acquired before")
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestWhatIsHeldIsSaidOnceWhereTwoLookForIt(t *testing.T) {
	lock := redlatchtest.NewLocker("orders")
	text := failure(t, func(tb testing.TB) {
		redlatchtest.NothingHeld(tb) // of a whole suite
		redlatchtest.NothingHeld(tb) // of one test
		take(t, lock).Context(t.Context())
	})
	require.Equal(t, 1, strings.Count(text, `"orders" is still held`), text)
	lock.Lose(nil)
}

func TestNothingIsSaidOfWhatWasGivenBackLostOrStolen(t *testing.T) {
	require.Empty(t, failure(t, func(tb testing.TB) {
		redlatchtest.NothingHeld(tb)
		server := redlatchtest.Run(tb)
		take(t, lock(server.Client())).Unlock(t.Context())
		hold := take(t, lock(server.Client(), brisk))
		server.Steal("orders")
		lostSoon(t, hold.Context(t.Context()))
	}))
}

func TestStillHeldListsWhatIsHeldNow(t *testing.T) {
	require.Empty(t, redlatchtest.StillHeld())
	server := redlatchtest.Run(t)
	a := take(t, lock(server.Client()))
	client := server.Client()
	several := take(t, multilock.New([]redlatch.Locker{rlock.New(client, "x", briefly.Linger(0)), rlock.New(client, "y", briefly.Linger(0))}))
	permits := permitsemaphore.New(client, "permits", briefly.Linger(0))
	_, err := permits.TrySetPermits(t.Context(), 3)
	require.NoError(t, err)
	permit, err := permits.Acquire(t.Context(), 2)
	require.NoError(t, err)
	take(t, rlock.New(client, "stolen", briefly.Linger(0))).Leave()
	server.Steal("stolen")
	held := redlatchtest.StillHeld()
	require.Len(t, held, 3)
	require.Equal(t, []string{"orders", "x+y", "permits"}, []string{held[0].Name, held[1].Name, held[2].Name})
	require.Equal(t, []string{a.Owner(), "", permit.IDs()[0]}, []string{held[0].Owner, held[1].Owner, held[2].Owner})
	for _, h := range held {
		require.Contains(t, filepath.Base(h.Place), "_test.go:", h)
	}
	require.NoError(t, a.Unlock(t.Context()))
	require.NoError(t, several.Unlock(t.Context()))
	require.NoError(t, permit.Release(t.Context()))
	require.Empty(t, redlatchtest.StillHeld())
}

func TestAHoldThatIsDroppedInABubbleIsHeldToItsEnd(t *testing.T) {
	text := failure(t, func(tb testing.TB) {
		redlatchtest.NothingHeld(tb)
		redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
			client := server.Client()
			for range 3 {
				func() { take(t, lock(server.Client())) }()
				runtime.GC()
				runtime.GC()
				refused(t, lock(client))
				server.Expire("orders")
			}
		})
		runtime.GC()
		runtime.GC()
	})
	require.Contains(t, text, `"orders" is still held`)
}

func TestAHoldFromAnotherOfItsProcessHasAPlaceToo(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		shared := lock(server.Client())
		first, others := take(t, shared), make(chan *redlatch.Hold)
		for range 5 {
			go func() {
				next, err := shared.Lock(t.Context())
				if err != nil {
					t.Error(err)
				}
				others <- next
			}()
		}
		synctest.Wait()
		shares := 0
		for range 5 {
			require.NoError(t, first.Unlock(t.Context()))
			next := <-others
			if next.Owner() == first.Owner() {
				shares++
			}
			require.Contains(t, redlatchtest.StillHeld()[0].Place, "held_test.go:")
			first = next
		}
		require.NotZero(t, shares, "some came without a command")
		require.NoError(t, first.Unlock(t.Context()))
	})
}

func TestWhatATestHasLeftIsNotHeldAfterIt(t *testing.T) {
	failure(t, func(tb testing.TB) { take(t, lock(redlatchtest.Run(tb).Client())) })
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) { take(t, lock(server.Client())) })
	require.Empty(t, redlatchtest.StillHeld())
}
