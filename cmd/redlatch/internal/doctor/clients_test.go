package doctor_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
	"github.com/redlatch/redlatch/internal/registry"
)

func TestClientsAreComparedWithThoseTheyShouldBeLike(t *testing.T) {
	s := single(start(t))
	clients(
		registry.About{Program: "billing", Library: "redlatch v1.2.0", Timeout: 30_000},
		registry.About{Program: "billing", Library: "redlatch v1.3.0", Timeout: 10_000},
		registry.About{Program: "billing", Library: "redlatch v1.3.0", Timeout: 30_000},
		registry.About{Program: "mail", Library: "redlatch v1.3.0", Timeout: 60_000},
		registry.About{Program: "mail", Library: "redisson 4.7.0"}, // does not say its timeout
		registry.About{Program: "evil\x1b[2J", Library: "redisson 4.7.0", Timeout: 20_000},
		registry.About{Library: "redlatch", Timeout: 7_000},
	)(t, s)
	s.report(t, dead, time.Hour, registry.About{Version: registry.Version, Program: "mail", Library: "redlatch v0.9.0", Timeout: 5_000},
		registry.Thing{Kind: "lock", Key: "jobs", Holds: 1, HeldSince: 1})
	said := func(id string) string {
		r := s.examine(t, plant{})
		i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.ID == id })
		require.GreaterOrEqual(t, i, 0, r.Fine)
		require.Equal(t, doctor.Info, r.Findings[i].Level)
		return r.Findings[i].Places[0].Detail
	}
	require.Equal(t, "redlatch: 1 with v1.2.0, 3 with v1.3.0", said("client-versions"))
	require.Equal(t, "billing: 1 with 10s, 2 with 30s", said("client-timeouts"))
}
