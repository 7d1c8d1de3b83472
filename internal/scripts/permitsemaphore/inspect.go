package permitsemaphore

import (
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

// A Taken is a permit that is taken.
type Taken struct {
	ID   string
	Left time.Duration // NoExpiry when it has no deadline
}

// A Look is what can be seen of a semaphore.
type Look struct {
	Exists bool
	TTL    time.Duration // negative without one, 0 when it does not exist
	Count
	First []Taken // that end first
}

// Inspect reads a semaphore and at most so many of the permits taken. It changes nothing.
func Inspect(of Names, most int) scripts.Command[Look] {
	return scripts.Array(inspect, of.plain(scripts.Wake{}), []any{most}, func(reply scripts.Reply) (l Look, err error) {
		e := reply.Elements()
		l.Available, l.Acquired = e.Number(), e.Number()
		l.Exists, l.TTL = e.TTL()
		for e.More() {
			one := Taken{ID: e.Text(), Left: NoExpiry}
			if left := e.Time(); left >= 0 {
				one.Left = left
			}
			l.First = append(l.First, one)
		}
		return l, e.End()
	})
}
