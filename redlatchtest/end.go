package redlatchtest

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/holds"
)

// settled is how long a bubble goes on when its test is over: what the library settles in the background, and what it keeps
// for the next use, has ended by then. It takes no time.
const settled = 5 * time.Minute

// close ends the server with the test.
func (s *Server) close() {
	s.tb.Helper()
	s.heal()
	s.mu.Lock()
	clients, thieves := s.clients, s.thieves
	s.mu.Unlock()
	for _, hold := range thieves {
		_ = hold.Unlock(context.Background()) // the test may have given it back, or taken it away
	}
	for _, e := range holds.Entered(0) {
		if s.serves(e) {
			holds.Forsake(e)
		}
	}
	if fakeClock() {
		time.Sleep(settled)
	}
	for _, client := range append(clients, s.admin) {
		_ = client.Close() // the test may have closed it
	}
	if err := s.proxy.Close(); err != nil {
		s.tb.Errorf("redlatchtest: %v", err)
	}
}

// serves tells whether something was acquired through a client of this server.
func (s *Server) serves(e holds.Entry) bool {
	for _, client := range e.Clients() {
		if c, ok := client.(interface{ Options() *redis.Options }); ok && c.Options().Addr == s.name {
			return true
		}
	}
	return false
}
