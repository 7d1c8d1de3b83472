package redistest

import (
	"crypto/rand"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Mini returns a miniredis of the test's own over TCP. Its keys expire with the clock, without FastForward.
//
// It counts commands with miniredis' pre-hook; a test that sets a pre-hook of its own gives up CommandStats.
func Mini(tb testing.TB) *Server {
	tb.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	if err := m.Start(); err != nil {
		tb.Fatalf("redistest: start miniredis: %v", err)
	}
	tb.Cleanup(m.Close)
	s := &Server{
		Name: "miniredis", Addr: m.Addr(), Mini: m,
		tb: tb, token: newToken(), calls: &callCounter{byName: make(map[string]int64)},
	}
	s.options.Addr = s.Addr
	m.Server().SetPreHook(s.calls.count)
	return s
}

// callCounter is what INFO commandstats is on a real server.
type callCounter struct {
	mu     sync.Mutex
	byName map[string]int64 // lower-case name
}

// count is a pre-hook: miniredis calls it for every command, those of scripts included, and goes on when it answers false.
func (c *callCounter) count(_ *server.Peer, name string, _ ...string) bool {
	name = strings.ToLower(name)
	if name == "info" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byName[name]++
	return false
}

func (c *callCounter) snapshot() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.byName)
}

// newToken is short enough to read in a failing test's output and long enough not to meet another on a shared server.
func newToken() string { return strings.ToLower(rand.Text()[:12]) }
