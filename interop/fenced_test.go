package interop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/fencedlock"
)

func init() {
	goLocks["fenced"] = named(fencedlock.New)
	kinds = append(kinds, kind{"fenced", reentrant | single})
}

func TestTokensGrowStrictlyAcrossLanguages(t *testing.T) {
	if absent("fenced") {
		return
	}
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("fenced")
		var last int64
		for i := range 12 {
			holder, other := first, second
			if i%2 == 1 {
				holder, other = second, first
			}
			if i%3 == 0 {
				require.NoError(t, holder.lock(o, how{lease: 20 * time.Second}))
			} else {
				require.NoError(t, holder.lock(o, how{}))
			}
			token := holder.token(o)
			require.Equal(t, last+1, token)
			require.NoError(t, holder.tryLock(o, 0))
			require.Greater(t, holder.token(o), token, "a re-entry has a token of its own")
			last = holder.token(o)
			seen, err := other.lastToken(o)
			require.NoError(t, err)
			require.Equal(t, last, seen)
			require.NoError(t, holder.unlock(o))
			require.NoError(t, holder.unlock(o))
		}
		require.Equal(t, []string{"redisson_lock_token:{" + o.name + "}"}, w.keys(t, o))
	})
}

// Java's methods that hand out no token issue one all the same, and so does whoever takes the lock after waiting.
func TestEveryAcquisitionIssuesAToken(t *testing.T) {
	if absent("fenced") {
		return
	}
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("fenced")
		java := w.java(t).(*javaActor)
		require.NoError(t, java.call("lock", o, nil, nil))
		require.NoError(t, java.unlock(o))
		require.NoError(t, first.lock(o, how{}))
		require.EqualValues(t, 2, first.token(o))
		got := start(func() error { return second.lock(o, how{}) })
		w.awaitWaiter(t, o)
		require.NoError(t, first.unlock(o))
		await(t, "the lock", got)
		require.EqualValues(t, 3, second.token(o))
		was, err := first.forceUnlock(o)
		require.NoError(t, err)
		require.True(t, was)
		require.NoError(t, first.lock(o, how{}))
		require.EqualValues(t, 4, first.token(o), "force does not set it back")
		require.NoError(t, first.unlock(o))
	})
}
