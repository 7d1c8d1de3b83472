package interop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/permitsemaphore"
)

func (w *world) acquired(t *testing.T, a actor, o object) int64 {
	t.Helper()
	if absent("acquired") {
		return w.client.ZCard(t.Context(), "{"+o.name+"}:timeout").Val()
	}
	n, err := a.acquired(o)
	require.NoError(t, err)
	return n
}

func TestAPermitOfOneSideIsReleasedByTheOtherByItsID(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("permits")
		done, err := first.setUp(o, 4)
		require.NoError(t, err)
		require.True(t, done)
		one, err := first.acquire(o, 1, how{})
		require.NoError(t, err)
		require.Regexp(t, "^[0-9a-f]{32}$", one[0])
		three, err := first.acquire(o, 3, how{lease: 20 * time.Second})
		require.NoError(t, err)
		require.EqualValues(t, 4, w.acquired(t, second, o))
		require.Zero(t, available(t, second, o))

		waiter := w.sameSide(t, first)
		got := start(func() error { _, err := waiter.acquire(o, 1, how{}); return err })
		w.awaitWaiter(t, o)
		released := time.Now()
		require.NoError(t, second.release(o, 1, one))
		await(t, "a permit", got)
		require.Less(t, time.Since(released), soon)

		require.ErrorIs(t, second.release(o, 1, one), errNotOwner, "twice")
		require.ErrorIs(t, first.release(o, 1, []string{"00112233445566778899aabbccddeeff"}), errNotOwner, "unknown")
		got = start(func() error { _, err := w.sameSide(t, first).acquire(o, 3, how{}); return err })
		require.NoError(t, second.release(o, 3, three))
		await(t, "three permits", got)
		require.EqualValues(t, 4, w.acquired(t, first, o))
	})
}

func TestAnExpiredPermitGoesToTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("permits")
		_, err := first.setUp(o, 1)
		require.NoError(t, err)
		const lease = 600 * time.Millisecond
		asked := time.Now()
		ids, err := first.acquire(o, 1, how{lease: lease})
		require.NoError(t, err)
		_, err = second.tryAcquire(o, 1, 0)
		require.ErrorIs(t, err, errBusy)
		_, err = second.acquire(o, 1, how{})
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(asked), lease-5*time.Millisecond)
		require.Less(t, time.Since(asked), soon)
		require.ErrorIs(t, first.release(o, 1, ids), errNotOwner)
		require.EqualValues(t, 1, w.acquired(t, first, o))
	})
}

func TestTheLeaseOfAPermitIsReadAndChangedByTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("permits")
		_, err := first.setUp(o, 2)
		require.NoError(t, err)
		forEver, err := first.acquire(o, 1, how{})
		require.NoError(t, err)
		lease, err := second.leaseTime(o, forEver[0])
		require.NoError(t, err)
		require.Negative(t, lease, "none")

		leased, err := first.acquire(o, 1, how{lease: 20 * time.Second})
		require.NoError(t, err)
		lease, err = second.leaseTime(o, leased[0])
		require.NoError(t, err)
		require.InDelta(t, 20, lease.Seconds(), 2)
		require.NoError(t, second.updateLease(o, leased[0], 100*time.Second))
		lease, err = first.leaseTime(o, leased[0])
		require.NoError(t, err)
		require.InDelta(t, 100, lease.Seconds(), 2)
		require.NoError(t, second.updateLease(o, leased[0], 50*time.Millisecond))
		eventually(t, "the end of the lease", func() bool { return available(t, first, o) == 1 })
		require.ErrorIs(t, second.updateLease(o, leased[0], time.Second), errNotOwner)
	})
}

// Redisson renews no permits. Those that Go renews are not taken for expired by Java.
func TestPermitsThatGoRenewsAreNotReclaimedByJava(t *testing.T) {
	w := singleWorld(t)
	cases.Add(1)
	o, java, quick := w.object("permits"), w.java(t), w.quickGo(t).(*goActor)
	_, err := java.setUp(o, 1)
	require.NoError(t, err)
	permit, err := permitsemaphore.New(quick.client, o.name, quick.opts...).Acquire(t.Context(), 1)
	require.NoError(t, err)
	_, err = java.acquire(o, 1, how{wait: 5 * shortWatchdog / 2})
	require.ErrorIs(t, err, errBusy)
	require.EqualValues(t, 1, w.acquired(t, java, o))
	require.NoError(t, permit.Release(t.Context()))
	_, err = java.tryAcquire(o, 1, time.Second)
	require.NoError(t, err)
}

// Java releases a permit that Go renews: Go learns that it is gone.
func TestAGoPermitReleasedByJavaIsLost(t *testing.T) {
	w := singleWorld(t)
	cases.Add(1)
	o, java, quick := w.object("permits"), w.java(t), w.quickGo(t).(*goActor)
	_, err := java.setUp(o, 1)
	require.NoError(t, err)
	permit, err := permitsemaphore.New(quick.client, o.name, quick.opts...).Acquire(t.Context(), 1)
	require.NoError(t, err)
	work := permit.Context(t.Context())
	require.NoError(t, java.release(o, 1, permit.IDs()))
	select {
	case <-work.Done():
	case <-time.After(patience):
		t.Fatal("Go did not notice")
	}
	require.ErrorIs(t, goError(permit.Release(t.Context())), errNotOwner)
	require.EqualValues(t, 1, available(t, java, o))
}
