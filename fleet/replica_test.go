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

func TestAProgramCanAskWhetherItsServerIsAMaster(t *testing.T) {
	master, replica := redistest.Replicated(t)
	require.NoError(t, fleet.CheckMaster(t.Context(), master.Client(t)))
	require.ErrorIs(t, fleet.CheckMaster(t.Context(), replica.Client(t)), fleet.ErrReplica)
	require.NoError(t, fleet.CheckMaster(t.Context(), replica.User(t, "-info")), "it does not say")
	closed := redistest.Mini(t).Client(t)
	require.NoError(t, closed.Close())
	require.NoError(t, fleet.CheckMaster(t.Context(), closed), "what cannot be asked is told by what is read next")
}

func TestAnObjectFindsItsHolderByTheIdentity(t *testing.T) {
	o := &fleet.Object{Holders: []fleet.Holder{{Holder: redlatch.Holder{Owner: "a"}}, {Holder: redlatch.Holder{Owner: "b", Value: "1"}}, {Holder: redlatch.Holder{Owner: "b", Value: "2"}}}}
	require.Nil(t, o.Holder("c"))
	require.Same(t, &o.Holders[1], o.Holder("b"))
}
