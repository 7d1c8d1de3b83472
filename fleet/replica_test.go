package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestAReplicaIsNotListed(t *testing.T) {
	master, replica := redistest.Replicated(t)
	_, err := fleet.List(t.Context(), master.Client(t))
	require.NoError(t, err)
	report, err := fleet.List(t.Context(), replica.Client(t))
	require.ErrorIs(t, err, fleet.ErrReplica)
	require.ErrorIs(t, err, redlatch.ErrUnavailable)
	require.Nil(t, report)
	require.EqualError(t, err, "redlatch: the server or the network failed: the server is a replica, and what it shows may be old; connect to its master")
	require.Error(t, fleet.Watch(t.Context(), replica.Client(t)), "it writes")
}
