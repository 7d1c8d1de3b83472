package permitsemaphore_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// A shownLook is of a permitsemaphore.Look what can be compared, with the first permit that is taken.
type shownLook struct {
	Exists              bool
	TTL                 time.Duration
	Available, Acquired int64
	Shown               int
	FirstID             string
	First               time.Duration
}

func TestInspect(t *testing.T) {
	see := func(most int) scripts.Command[shownLook] {
		return scripts.Map(permitsemaphore.Inspect(names, most), func(l permitsemaphore.Look) shownLook {
			s := shownLook{l.Exists, l.TTL, l.Available, l.Acquired, len(l.First), "", 0}
			if len(l.First) > 0 {
				s.FirstID, s.First = l.First[0].ID, l.First[0].Left
			}
			return s
		})
	}
	Table(t, []Row{
		{Name: "There is none", Before: State{}, Call: Answers(see(5), shownLook{})},
		{Name: "Nobody has a permit", Before: State{key: {Value: "5", TTL: ttl}}, Call: Answers(see(5), shownLook{true, ttl, 5, 0, 0, "", 0})},
		{Name: "Those that end first come first", Before: taken("-1", Deadlines{a: 2 * soon, b: soon}),
			Call: Answers(see(5), shownLook{true, -time.Millisecond, -1, 2, 2, b, soon}).Lengthens()},
		{Name: "No more than are asked for", Before: taken("1", Deadlines{a: 2 * soon, b: soon}),
			Call: Answers(see(1), shownLook{true, -time.Millisecond, 1, 2, 1, b, soon}).Lengthens()},
		{Name: "What has expired is available, and stays where it is", Before: taken("0", Deadlines{a: old, b: soon}),
			Call: Answers(see(1), shownLook{true, -time.Millisecond, 1, 1, 1, b, soon}).Lengthens()},
		{Name: "A permit without a lease", Before: taken("0", Scores{a: never}),
			Call: Answers(see(1), shownLook{true, -time.Millisecond, 0, 1, 1, a, permitsemaphore.NoExpiry})},
		{Name: "Permits without a semaphore are nobody's", Before: State{permits: {Value: Scores{a: never}}}, Call: Answers(see(1), shownLook{})},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(see(1), "WRONGTYPE")},
	})
}
