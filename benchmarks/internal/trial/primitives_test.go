package trial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestEachPrimitiveStandsBesideTheFloorAndCostsTheServerSomething(t *testing.T) {
	trial := newTrial(t, "^primitives/(own/1|hot/16|hot/4x8|hot/10x1|wake)$", "^(rlock|semaphore of 4|countdownlatch)$")
	var r report.Results
	require.NoError(t, trial.Run(t.Context(), &r))
	require.Empty(t, r.Left)
	require.Len(t, r.Rows, 4+3*3+4) // a latch is not measured with one key for all
	for _, row := range r.Rows {
		require.True(t, row.Primitive)
		require.Positive(t, row.Value.Median, row.Scenario+" "+row.Library)
		require.Positive(t, row.Micros, row.Scenario+" "+row.Library)
		if row.Group == "own" {
			require.InDelta(t, 2, row.Commands, 0.5, row.Library)
		}
	}
}

func TestARedlockIsCountedOnAllItsServers(t *testing.T) {
	trial := newTrial(t, "^primitives/own/1$", "^redlock")
	for range 2 {
		other, err := server.Use("redis://" + redistest.Process(t).Addr)
		require.NoError(t, err)
		t.Cleanup(other.Stop)
		trial.Others = append(trial.Others, other)
	}
	var r report.Results
	require.NoError(t, trial.Run(t.Context(), &r))
	require.Len(t, r.Rows, 2)
	require.Greater(t, r.Rows[1].Commands, 4.0) // six, less the commands that the end of a block has cut off
}

func TestAPrimitiveWithoutItsServersIsLeftOutAndTheRunGoesOn(t *testing.T) {
	trial := newTrial(t, "^primitives/own/1$", "^(redlock of 3|semaphore of 4)$")
	var r report.Results
	require.NoError(t, trial.Run(t.Context(), &r))
	require.Len(t, r.Rows, 2)
	require.Len(t, r.Left, 1)
	require.Contains(t, r.Left[0], "primitives/own/1 (redlock of 3: 2 servers are missing)")
}

func TestNamesOfPrimitivesAreOfNothingElse(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range library.All {
		seen[l.Name] = true
	}
	for _, p := range library.Primitives {
		require.False(t, seen[p.Name], p.Name)
		seen[p.Name] = true
	}
}
