package semaphore

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// WithPermits says how many permits the semaphore has, an option of [New]. Where Redis has no semaphore of
// the name, the first Acquire sets it up with n permits, by the command that it sends anyway, and so it does
// again after Redis has lost its data, or the semaphore was deleted or its TTL is over. A semaphore that is
// there stays as it is, whatever n says: its number is changed by AddPermits. If it has more permits than n,
// a line in the log names both numbers.
//
// A call for more than n permits is ErrInvalid, before anything is sent. A Release does not set up a
// semaphore: the next Acquire does, with all permits.
func WithPermits(n int64) redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) { s.SetUp(n) })
}
