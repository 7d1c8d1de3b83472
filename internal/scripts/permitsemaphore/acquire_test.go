package permitsemaphore_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func held() lane.Granted { return lane.Granted{Served: true, Again: -1} }

func until(d time.Duration) lane.Granted { return lane.Granted{Again: d} }

// missing is nobody served where there is no semaphore.
func missing() lane.Granted { return lane.Granted{Again: -1, Short: lane.Missing} }

// ever is nobody served where there are so many permits in all, which are too few.
func ever(have int64) lane.Granted {
	return lane.Granted{Again: -1, Short: lane.TooFewEver, Have: have}
}

func TestAcquire(t *testing.T) {
	acquire := func(lease time.Duration, ids ...string) scripts.Command[lane.Granted] {
		return permitsemaphore.Acquire(names, ids, lease, wake, first)
	}
	Table(t, []Row{
		{Name: "A permit is taken with a deadline by the server's clock", Before: has("5"),
			Call: Answers(acquire(lease, a), held()), After: taken("4", Deadlines{a: lease})},
		{Name: "Or without one", Before: has("1"), Call: Answers(acquire(noLease, a), held()), After: taken("0", Scores{a: never})},
		{Name: "Several at once", Before: taken("2", Deadlines{c: soon}),
			Call: Answers(acquire(lease, a, b), held()), After: taken("0", Deadlines{a: lease, b: lease, c: soon})},
		{Name: "All or none", Before: taken("1", Deadlines{c: soon}), Call: Answers(acquire(lease, a, b), until(soon)).Lengthens()},
		{Name: "The next deadline is told, not a later one", Before: taken("0", Deadlines{b: 2 * soon, c: soon}),
			Call: Answers(acquire(lease, a), until(soon)).Lengthens()},
		{Name: "There is none to be told of permits that never expire", Before: taken("0", Scores{c: never}),
			Call: Answers(acquire(lease, a), until(-1))},
		{Name: "Where there are none at all that is said", Before: has("0"), Call: Answers(acquire(lease, a), ever(0))},
		{Name: "A semaphore that does not exist has none", Before: State{}, Call: Answers(acquire(lease, a), missing())},
		{Name: "What has expired is taken again, without a message if nothing is left", Before: taken("0", Deadlines{c: old}),
			Call: Answers(acquire(lease, a), held()), After: taken("0", Deadlines{a: lease})},
		{Name: "More than one may have expired, and what is left is announced", Before: taken("0", Deadlines{b: old, c: old}),
			Call: Answers(acquire(lease, a), held()), After: taken("1", Deadlines{a: lease}), Messages: said("1")},
		{Name: "More expired than are wanted may still be too few, and come back all the same",
			Before: taken("-4", Deadlines{b: old, c: old}), Call: Answers(acquire(lease, a), ever(0)), After: has("-2")},
		{Name: "Others may take what expired if it is too few for us", Before: taken("0", Deadlines{c: old}),
			Call: Answers(acquire(lease, a, b), ever(1)), After: has("1"), Messages: said("1")},
		{Name: "Those that are taken count among all", Before: taken("1", Scores{c: never}),
			Call: Answers(acquire(lease, a, b), until(-1))},
		{Name: "And may be too few too", Before: taken("0", Scores{c: never}), Call: Answers(acquire(lease, a, b), ever(1))},
		{Name: "The permits have the TTL of the semaphore", Before: State{key: {Value: "1", TTL: ttl}},
			Call: Answers(acquire(lease, a), held()), After: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{a: lease}, TTL: ttl}}},
		{Name: "And lose it with it", Before: State{key: {Value: "1"}, permits: {Value: Deadlines{c: soon}, TTL: ttl}},
			Call: Answers(acquire(lease, a), held()), After: taken("0", Deadlines{a: lease, c: soon})},
		{Name: "A permit that outlived its semaphore is not put back when it expires", Before: State{permits: {Value: Deadlines{c: old}}},
			Call: Answers(acquire(lease, a), missing()), After: State{}},
		{Name: "A repetition whose semaphore has vanished has nothing", Before: State{permits: {Value: Scores{a: never}}},
			Call: Answers(acquire(noLease, a), missing())},
		{Name: "What an earlier execution has taken stays taken, until then too", Before: taken("0", Deadlines{a: soon, b: soon}),
			Call: Answers(acquire(lease, a, b), held()).Lengthens()},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(acquire(lease, a), "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(acquire(lease, a), "not a number")},
		{Name: "A number out of range is none either", Before: has("9223372036854775807"), Call: Fails(acquire(lease, a), "not a number")},
		{Name: "Text is no set of permits, and nothing is taken", Before: mixed, Call: Fails(acquire(lease, a), "WRONGTYPE")},
	})
}

func TestAcquireIsRefusedOnceItsLaneWasFenced(t *testing.T) {
	acquire := permitsemaphore.Acquire(names, []string{a}, lease, wake, first)
	Table(t, []Row{{Name: "Stale", Before: did(has("5"), "2:0"), Call: Fails(acquire, "REDLATCH-STALE")}})
}
