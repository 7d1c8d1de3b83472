package fencedlock

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// WithClockTokens makes the tokens of a fenced lock grow even if their counter is lost. No token is below the
// server's time in microseconds at the moment when Redis issues it. So if the counter is lost or goes back (a
// failover, a restart, an eviction, a deletion), the next tokens are still greater than all before. A guard
// then neither takes the writes of a former holder nor refuses those of the present one.
//
// Three things are needed for this. The clocks of a server and of the one that takes over from it differ by
// less than the time between the loss and the next acquisition. Fewer than a million tokens a second are
// issued. Every process that takes the lock uses the option; Redisson has none like it, and counts on from
// the last token. The price is numbers of 16 digits; they fit into a BIGINT, and into a double.
func WithClockTokens() redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		s.Give(settings.ClockTokens)
		s.ClockTokens = true
	})
}
