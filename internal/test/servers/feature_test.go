package servers_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/test/servers"
)

// Which server has what is in docs/servers.md. Here: an answer is given, and the server is as before.
func TestAServerIsAskedForEachFeatureAndKeepsNothing(t *testing.T) {
	program(t)
	s, err := servers.Start()
	ok(t, err)
	defer s.Close()
	for _, f := range servers.Features {
		for range 2 {
			has, err := s.Has(t.Context(), f)
			ok(t, err)
			t.Logf("%s: %v", f.Name, has)
		}
	}
	if got := s.Admin().ConfigGet(t.Context(), "min-replicas-to-write").Val()["min-replicas-to-write"]; got != "0" {
		t.Errorf("min-replicas-to-write is %s", got)
	}
	ok(t, s.Admin().Set(t.Context(), "k", "v", 0).Err())
}
