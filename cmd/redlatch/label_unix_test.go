//go:build unix

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestTheLabelOfARunIsShownBesideItsProcess(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	for name, mode := range map[string][]string{"lock": nil, "reader": {"-s"}, "writer": {"-x"}, "permits": {"-N", "1"}} {
		begin(t, runner(srv, append(mode, "--label", "job of the "+name, name, "-c", "echo; exec sleep 100")...))
	}
	for _, name := range []string{"lock", "reader", "writer", "permits"} {
		h := shown(t, srv.Client(t), name)
		require.Equal(t, "job of the "+name, h.Client.Label)
	}
	_, stdout, _ := use("ls", "--url", "redis://"+srv.Addr)
	require.Regexp(t, `writer +read-write lock +write: .* redlatch pid \d+ \(job of the writer\)`, stdout)
}
