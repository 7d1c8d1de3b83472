package rwlock

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// WithWriterPreference makes a waiting writer of a read-write lock keep new readers out, so that overlapping
// readers of many processes cannot keep it waiting for ever. The writer announces itself beside the lock,
// where Redisson does not look: readers of this library stand back, whether they have this option or not, and
// Java readers do not. Readers that hold the lock may re-enter it. Without the option a waiting writer keeps
// out only new readers of its own process. A writer that waits renews its announcement by asking at least
// every 3 s, whatever [redlatch.WithPoll] says. That of a writer whose process dies expires after twice its
// poll interval, so after 6 s at the latest.
func WithWriterPreference() redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		s.Give(settings.WriterPreference)
		s.PreferWriters = true
	})
}
