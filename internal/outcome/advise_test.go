package outcome_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/outcome"
)

func TestTheErrorOfAWrongClientSaysWhatToDo(t *testing.T) {
	moved := reply("MOVED 3999 10.0.0.1:7000")
	require.True(t, outcome.Redirects(moved))
	require.False(t, outcome.Wrong(moved), "a client of a cluster may follow it later")
	require.False(t, outcome.Redirects(reply("READONLY You can't write against a read only replica.")))
	redirected := &outcome.Redirected{Err: moved}
	require.True(t, outcome.Wrong(redirected))
	require.ErrorContains(t, redirected, "redis.NewClusterClient")
	require.ErrorContains(t, redirected, moved.Error())
	require.ErrorIs(t, redirected, moved)

	readonly := reply("READONLY You can't write against a read only replica.")
	require.ErrorContains(t, outcome.Advise(readonly), "is a replica")
	require.ErrorIs(t, outcome.Advise(readonly), readonly)
}

func TestAskingAgainDoesNotHelpAClientThatIsRedirected(t *testing.T) {
	moved := reply("MOVED 3999 10.0.0.1:7000")
	require.Equal(t, outcome.Moved, outcome.Of(moved))
	require.Equal(t, outcome.Hopeless, outcome.Of(&outcome.Redirected{Err: moved}))
}
