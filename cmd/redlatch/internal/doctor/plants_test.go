package doctor_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
	"github.com/redlatch/redlatch/internal/test/servers"
)

// fewestPlants is how many the issue asks for.
const fewestPlants = 30

// Whatever a check can find is planted by some test.
func TestEachCheckHasAPlant(t *testing.T) {
	plants := slices.Concat(singlePlants, startPlants, replicatedPlants(nil), clusterPlants, sentinelPlants(&servers.Sentinel{}))
	require.GreaterOrEqual(t, len(plants), fewestPlants)
	planted := map[string]bool{}
	for _, p := range plants {
		planted[p.finds] = true
	}
	for _, c := range doctor.Checks {
		if c.Level != doctor.Info {
			require.True(t, planted[c.ID], c.ID)
		}
	}
}
