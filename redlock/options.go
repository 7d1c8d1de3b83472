package redlock

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// WithNodeTimeout sets how long one attempt of a redlock waits for one of its servers. The default is a tenth
// of the lease, at least 50 ms and at most 500 ms; it is never more than half of the lease. A server that is
// down or hung costs at most this much time, and usually none, because a majority is enough. It should be
// small compared with the lease, and longer than a round trip.
func WithNodeTimeout(d time.Duration) redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		if d < time.Millisecond {
			s.Fail("WithNodeTimeout(%v): at least %v, and more than a round trip", d, time.Millisecond)
		}
		s.Give(settings.NodeTimeout)
		s.NodeTimeout = d
	})
}
