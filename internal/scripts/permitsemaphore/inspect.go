package permitsemaphore

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

// A Taken is a permit that is taken.
type Taken struct {
	ID   string
	Left time.Duration // NoLease when it has no deadline
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
		if len(reply.List) < 3 || len(reply.List)%2 == 0 {
			return l, fmt.Errorf("answered %d elements where three and pairs were expected", len(reply.List))
		}
		if l.Available, err = scripts.Number(reply.List[0]); err != nil {
			return l, err
		}
		if l.Acquired, err = scripts.Number(reply.List[1]); err != nil {
			return l, err
		}
		if l.Exists, l.TTL, err = scripts.TTL(reply.List[2]); err != nil {
			return l, err
		}
		for rest := reply.List[3:]; len(rest) > 0; rest = rest[2:] {
			id, _ := rest[0].(string)
			left, err := scripts.Number(rest[1])
			if err != nil {
				return l, err
			}
			one := Taken{ID: id, Left: NoLease}
			if left >= 0 {
				one.Left, _ = scripts.Time(left) // no error: the number is not negative
			}
			l.First = append(l.First, one)
		}
		return l, nil
	})
}
