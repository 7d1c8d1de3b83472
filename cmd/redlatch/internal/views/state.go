package views

import (
	"fmt"
	"strings"

	"github.com/redlatch/redlatch"
)

// state is what is said of an object in place of holders, or beside them: of a counter its number.
func (o *Object) state() string {
	switch {
	case o.kind == redlatch.KindLatch && !o.Exists:
		return "open, or never set"
	case o.kind == redlatch.KindLatch:
		return fmt.Sprintf("%d to count down", o.Value)
	case o.counts() && !o.Exists:
		return "no permits set"
	case o.kind == redlatch.KindPermitSemaphore:
		return fmt.Sprintf("%d of %d permits free", o.Value, o.Total)
	case o.kind == redlatch.KindSemaphore:
		return fmt.Sprintf("%s free", count(o.Value, "permit"))
	case len(o.Holders) == 0:
		return "nobody"
	}
	return ""
}

// counts tells whether it is a number and not a lock.
func (o *Object) counts() bool {
	return o.kind == redlatch.KindSemaphore || o.kind == redlatch.KindPermitSemaphore || o.kind == redlatch.KindLatch
}

// left is what is left of a lease.
func left(s Seconds) string {
	if !s.Known {
		return "no lease"
	}
	return Age(s.Duration)
}

// waiting sums up who waits: "3, oldest 12 s". Those that are silent are told apart: "3, oldest 12 s, 1 silent".
func (o *Object) waiting() string {
	var parts []string
	if n := o.waits(); n > 0 {
		parts = append(parts, fmt.Sprint(n))
	}
	if oldest := o.oldest(); oldest.Known {
		parts = append(parts, "oldest "+oldest.age())
	}
	if n := o.ghosts(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d silent", n))
	}
	return strings.Join(parts, ", ")
}
