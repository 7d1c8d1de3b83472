package redistest

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch/internal/test/servers"
)

// Has asks a process of the test's own for a feature.
func (s *Server) Has(tb testing.TB, f servers.Feature) bool {
	tb.Helper()
	has, err := s.own().Has(context.Background(), f)
	must(tb, err)
	return has
}

// Needs leaves the test out where the server lacks a feature. The report of the continuous integration takes a skip in
// these words, for a feature that docs/servers.md says the server lacks, and no other.
func (s *Server) Needs(tb testing.TB, f servers.Feature) {
	tb.Helper()
	if !s.Has(tb, f) {
		tb.Skipf("excused: the server lacks %s", f.Name)
	}
}
