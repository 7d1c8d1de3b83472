package redlatch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// lockOfEach makes one lock of each kind, with a name of its own each.
func lockOfEach(clients ...redlatch.Client) map[redlatch.Kind]redlatch.Locker {
	client, linger := clients[0], briefly.Linger(0)
	return map[redlatch.Kind]redlatch.Locker{
		redlatch.KindLock:       rlock.New(client, "plain", linger),
		redlatch.KindFairLock:   fairlock.New(client, "fair", linger),
		redlatch.KindFencedLock: fencedlock.New(client, "fenced", linger),
		redlatch.KindSpinLock:   spinlock.New(client, "spin", linger),
		redlatch.KindReadLock:   rwlock.New(client, "read", linger).Reader(),
		redlatch.KindWriteLock:  rwlock.New(client, "written", linger),
		redlatch.KindGroupLock:  multilock.NewGroup(client, "group", []string{"a", "b"}, linger),
		redlatch.KindMultiLock:  multilock.New([]redlatch.Locker{rlock.New(client, "m1", linger), rlock.New(client, "m2", linger)}),
		redlatch.KindRedlock:    redlock.New(clients, "red", linger),
	}
}

func TestAHoldSaysOfWhatItIs(t *testing.T) {
	srv := redistest.Mini(t)
	for kind, lock := range lockOfEach(srv.Client(t)) {
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err, kind)
		require.Equal(t, kind, hold.Kind())
		require.Equal(t, lock.Name(), hold.Name())
		require.NoError(t, hold.Unlock(t.Context()))
		require.Equal(t, lock.Name(), hold.Name(), "also after it")
	}
	hold, _ := redlatchtest.NewHold(redlatchtest.Terms{Name: "fake"})
	require.Equal(t, "fake", hold.Name())
	require.Equal(t, redlatch.KindLock, hold.Kind())
	require.NoError(t, hold.Unlock(t.Context()))
}
