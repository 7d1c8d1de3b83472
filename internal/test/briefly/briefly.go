// Package briefly is for tests that cannot wait until what the primitives of a client share has ended by itself, as on fake time.
package briefly

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// Linger is redlatch.WithLinger for the client that New is called with, whenever that is, and whatever was said before. The last one counts.
func Linger(d time.Duration) redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) { s.Linger, s.LingerSet = d, true })
}
