package interop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
)

var byTheTest = fleet.Notice{Who: "ada@ops-1", Why: "the test"}

// freedFromJava has Holder.Free take a lock of each kind from a thread of Java. The thread hears nothing; its
// client finds out when it is about to renew the lock, and does so no more, and unlock throws.
func freedFromJava(t *testing.T, w *world) {
	for _, kind := range []string{"lock", "fair", "spin", "fenced", "read", "write"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cases.Add(1)
			victim, o := w.quickJava(t), w.object(kind)
			require.NoError(t, victim.lock(o, how{}))
			require.NoError(t, victim.lock(o, how{}))
			wanted := o
			if kind == "read" {
				wanted.kind = "write"
			}
			next := w.java(t)
			got := start(func() error { return next.lock(wanted, how{}) })
			w.awaitSleeper(t, wanted, next)

			freed, err := freeFrom(t, w.client, fleetKinds[kind], o.name, strings.TrimSuffix(victim.owner(o), ":write"), byTheTest)
			require.NoError(t, err)
			require.True(t, freed)
			await(t, "the lock", got)
			require.False(t, victim.held(o))
			w.renewsNoMore(t, victim, o)
			require.ErrorContains(t, victim.unlock(o), "IllegalMonitorStateException")
			require.True(t, next.held(wanted))
			require.NoError(t, next.unlock(wanted))
		})
	}
	t.Run("permits", func(t *testing.T) {
		t.Parallel()
		cases.Add(1)
		victim, o := w.java(t), w.object("permits")
		_, err := victim.setUp(o, 1)
		require.NoError(t, err)
		ids, err := victim.acquire(o, 1, how{})
		require.NoError(t, err)
		next := w.java(t)
		got := start(func() error { _, err := next.acquire(o, 1, how{}); return err })
		w.awaitWaiter(t, o)
		freed, err := freeFrom(t, w.client, redlatch.KindPermitSemaphore, o.name, ids[0], byTheTest)
		require.NoError(t, err)
		require.True(t, freed)
		await(t, "the permit", got)
		require.ErrorIs(t, victim.release(o, 1, ids), errNotOwner)
		require.Zero(t, available(t, next, o))
	})
}

// renewsNoMore has the client of an actor renew another lock of the kind until it must have looked at this one too. A client that
// still renewed it would cut the lease of a hold that is forged then.
func (w *world) renewsNoMore(t *testing.T, a actor, o object) {
	t.Helper()
	other, beside := w.quickJava(t), w.object(o.kind) // the same client
	require.NoError(t, other.lock(beside, how{}))
	w.awaitRenewals(t, beside, 2)
	require.NoError(t, w.client.HSet(t.Context(), o.name, a.owner(o), 1).Err())
	require.NoError(t, w.client.PExpire(t.Context(), o.name, time.Hour).Err())
	w.awaitRenewals(t, beside, 2)
	require.Greater(t, w.client.PTTL(t.Context(), o.name).Val(), 2*shortWatchdog)
	require.NoError(t, w.client.HDel(t.Context(), o.name, a.owner(o)).Err())
	require.NoError(t, other.unlock(beside))
}

// awaitRenewals returns when the lease of a lock has been lengthened so often.
func (w *world) awaitRenewals(t *testing.T, o object, times int) {
	t.Helper()
	for last := time.Hour; times > 0; {
		eventually(t, "a renewal", func() bool {
			before := last
			last = w.client.PTTL(t.Context(), o.name).Val()
			return last > before
		})
		times--
	}
}

// freeFrom takes an object from an owner, if that is one of its holders.
func freeFrom(t *testing.T, client redlatch.Client, kind redlatch.Kind, name, owner string, by fleet.Notice) (bool, error) {
	t.Helper()
	object, err := fleet.Get(t.Context(), client, kind, name)
	if err != nil {
		return false, err
	}
	if h := object.Holder(owner); h != nil {
		return h.Free(t.Context(), by)
	}
	return false, nil
}
