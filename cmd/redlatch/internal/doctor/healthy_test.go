package doctor_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
)

// healthy is a site of which everything can be seen, and nothing is wrong.
func healthy(t *testing.T, s *site, topology string) {
	t.Helper()
	r := s.examine(t, plant{})
	require.Empty(t, wrong(r))
	require.Empty(t, unseen(r))
	require.Equal(t, topology, r.Topology)
	require.Equal(t, "ok", r.Worst)
	require.Zero(t, r.Code())
	for _, node := range s.nodes {
		keys, err := node.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		require.Empty(t, keys, "the doctor leaves nothing behind")
	}

	// With fewer rights it sees less, and says so.
	r = s.examine(t, plant{}, blind...)
	require.Empty(t, wrong(r))
	require.NotEmpty(t, unseen(r))
	require.Equal(t, doctor.Unknown, r.Worst)
	require.Equal(t, 1, r.Code())
	for _, f := range r.Findings {
		for _, p := range f.Places {
			require.NotEmpty(t, p.Detail, f.ID)
		}
	}
}

func TestNothingIsWrongWithAHealthySingleServer(t *testing.T) {
	s := single(start(t))
	healthy(t, s, "single")
	// The default user has no password here. The doctor accepts that on a loopback address.
	r := s.examine(t, plant{client: func(_ *testing.T, _ *site, o *redis.Options) { o.Username, o.Password = "", "" }})
	require.Empty(t, append(wrong(r), unseen(r)...))
}

// What is worth knowing of a server is found too, and is nothing wrong.
func TestNotesAreTaken(t *testing.T) {
	s := single(start(t))
	ahead := plant{client: over(clockThatSays(func(micros int64) int64 { return micros + 5e6 }), nil)}
	r := s.examine(t, ahead)
	require.ElementsMatch(t, []string{"clock-offset", "fsync-everysec", "no-replicas"}, found(r))
	require.Empty(t, wrong(r))
	r = s.examine(t, ahead, blind...)
	require.Subset(t, append(found(r), unseen(r)...), []string{"clock-offset", "fsync-everysec", "no-replicas"})
}

func TestNothingIsWrongThroughTLS(t *testing.T) {
	r := single(start(t)).examine(t, plant{client: secured(month, true)})
	require.Empty(t, append(wrong(r), unseen(r)...))
	require.Contains(t, r.Fine, "certificate-ends")
}

func TestNothingIsWrongWithAHealthySentinelGroup(t *testing.T) {
	s, _ := sentinels(t)
	healthy(t, s, "sentinel")
}

func TestNothingIsWrongWithAHealthyCluster(t *testing.T) {
	healthy(t, cluster(t), "cluster")
}
