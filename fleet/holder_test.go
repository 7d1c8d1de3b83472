package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A holder that was listed has the name that Redis has, and one of Get that of the program.
func TestAHolderKnowsWhereItIsToBeAsked(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	mapped := redlatch.WithNameMapper(func(name string) string { return "app:" + name })
	hold, err := rlock.New(client, "orders", mapped).Lock(t.Context())
	require.NoError(t, err)
	listed, err := fleet.List(t.Context(), client, fleet.WithOptions(mapped))
	require.NoError(t, err)
	at := slices.IndexFunc(listed.Objects, func(o *fleet.Object) bool { return o.Key == "app:orders" })
	require.GreaterOrEqual(t, at, 0)
	got, err := fleet.Get(t.Context(), client, redlatch.KindLock, "orders", fleet.WithOptions(mapped))
	require.NoError(t, err)
	holders := []fleet.Holder{listed.Objects[at].Holders[0], got.Holders[0]}
	for _, h := range holders {
		_, err := h.Ask(t.Context(), stuck, time.Minute)
		unaskable := new(fleet.UnaskableError)
		require.ErrorAs(t, err, &unaskable, "its client has no entry yet")
		require.Equal(t, hold.Owner(), unaskable.Owner)
	}
	require.NoError(t, hold.Unlock(t.Context()))
	for _, h := range holders {
		answer, err := h.Ask(t.Context(), stuck, time.Minute)
		require.NoError(t, err)
		require.Equal(t, fleet.NotHeld, answer, "it was given back since")
	}
}

func TestOnlyAHolderThatWasFoundIsAsked(t *testing.T) {
	_, err := fleet.Holder{}.Ask(t.Context(), stuck, time.Minute)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
}
