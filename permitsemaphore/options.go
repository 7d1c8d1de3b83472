package permitsemaphore

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// WithoutExpiry makes permits that never expire, as Redisson's lease of -1 does: they are not renewed, and
// those of a process that dies stay taken until a process releases them by their ids. By default permits are
// renewed while their process lives.
func WithoutExpiry() redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		s.Give(settings.NoExpiry)
		s.Lease, s.NoExpiry = 0, true
	})
}

// WithPermits says how many permits the semaphore has, those taken included, an option of [New]. Where Redis
// has no semaphore of the name, the first Acquire sets it up with n permits, by the command that it sends
// anyway, and so it does again after Redis has lost its data, or the semaphore was deleted or its TTL is
// over. A semaphore that is there stays as it is, whatever n says: its number is changed by SetPermits and
// AddPermits. If it is another one than n, a line in the log names both.
//
// A call for more than n permits is ErrInvalid, before anything is sent, and so is one for more than Redis
// has in all, taken or not.
func WithPermits(n int64) redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) { s.SetUp(n) })
}
