package permitsemaphore

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// WithoutExpiry makes permits that never expire, as Redisson's lease of -1 does: they are not renewed, and those of a process that dies
// stay taken until somebody releases them by their ids. By default permits are renewed while their process lives.
func WithoutExpiry() redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		s.Give(settings.NoExpiry)
		s.Lease, s.NoExpiry = 0, true
	})
}
