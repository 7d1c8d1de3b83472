package permitsemaphore_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/scripts/row"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

var five = lane.Size{Permits: 5}

func TestASemaphoreThatIsMissingIsSetUpWhenItIsAskedForPermits(t *testing.T) {
	by := func(size lane.Size, candidate row.Candidate, ids ...string) scripts.Command[lane.Granted] {
		return permitsemaphore.AcquireSized(names, ids, lease, size, wake, candidate, first)
	}
	acquire := func(ids ...string) scripts.Command[lane.Granted] { return by(five, row.Candidate{}, ids...) }
	wait := func(ids ...string) scripts.Command[lane.Granted] {
		return by(five, row.Candidate{ID: "p:1", Patience: time.Second}, ids...)
	}
	Table(t, []Row{
		{Name: "With its number, and what is left is announced",
			Before: State{}, Call: Answers(acquire(a), held()), After: taken("4", Deadlines{a: lease}), Messages: said("4")},
		{Name: "With its TTL", Before: State{}, Call: Answers(by(lane.Size{Permits: 5, TTL: ttl}, row.Candidate{}, a), held()),
			After: State{key: {Value: "4", TTL: ttl}, permits: {Value: Deadlines{a: lease}, TTL: ttl}}, Messages: said("4")},
		{Name: "By one who wants several", Before: State{}, Call: Answers(acquire(a, b), held()), After: taken("3", Deadlines{a: lease, b: lease}), Messages: said("3")},
		{Name: "By those who wait", Before: State{}, Call: Answers(wait(a), held()), After: taken("4", Deadlines{a: lease}), Messages: said("4")},
		{Name: "Permits that outlived an earlier one count as taken", Before: State{permits: {Value: Deadlines{c: soon}}},
			Call: Answers(acquire(a), held()), After: taken("3", Deadlines{a: lease, c: soon}), Messages: said("3")},
		{Name: "Until they expire", Before: State{permits: {Value: Deadlines{c: old}}},
			Call: Answers(acquire(a), held()), After: taken("4", Deadlines{a: lease}), Messages: said("4")},
		{Name: "What is there is taken from", Before: has("5"), Call: Answers(acquire(a), held()), After: taken("4", Deadlines{a: lease})},
		{Name: "Those taken count", Before: taken("3", Deadlines{b: soon, c: soon}), Call: Answers(acquire(a), held()),
			After: taken("2", Deadlines{a: lease, b: soon, c: soon})},
		{Name: "None left is not missing", Before: taken("0", Deadlines{c: soon}), Call: Answers(by(lane.Size{Permits: 1}, row.Candidate{}, a), until(soon)).Lengthens()},
		{Name: "Those that are missing for good are told", Before: has("1"), Call: Answers(acquire(a, b), ever(1))},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(acquire(a), "WRONGTYPE")},
		{Name: "Text is no set of permits, and nothing is taken", Before: mixed, Call: Fails(acquire(a), "WRONGTYPE")},
	})
}

func TestAnotherNumberThanThereIsToBeIsTold(t *testing.T) {
	in := func(total int64) lane.Granted { return lane.Granted{Served: true, Again: -1, Total: total} }
	acquire := func(ids ...string) scripts.Command[lane.Granted] {
		return permitsemaphore.AcquireSized(names, ids, lease, five, wake, row.Candidate{}, first)
	}
	Table(t, []Row{
		{Name: "More", Before: has("9"), Call: Answers(acquire(a), in(9)), After: taken("8", Deadlines{a: lease})},
		{Name: "Fewer", Before: has("3"), Call: Answers(acquire(a), in(3)), After: taken("2", Deadlines{a: lease})},
		{Name: "Of several permits", Before: has("3"), Call: Answers(acquire(a, b), in(3)), After: taken("1", Deadlines{a: lease, b: lease})},
		{Name: "Those taken count", Before: taken("3", Deadlines{c: soon}), Call: Answers(acquire(a), in(4)), After: taken("2", Deadlines{a: lease, c: soon})},
	})
}

func TestAddToASemaphoreThatKnowsItsSize(t *testing.T) {
	add := func(d int64) scripts.Command[int64] {
		return permitsemaphore.AddSized(names, d, lane.Size{Permits: 5, TTL: ttl}, wake, first)
	}
	kept := func(value string, ttl time.Duration, reply string) State {
		return State{key: {Value: value, TTL: ttl}, lanes: {Value: Hash{"1": reply}, TTL: keep}}
	}
	Table(t, []Row{
		{Name: "More than it has to be", Before: State{}, Call: Answers(add(2), 7), After: kept("7", ttl, "1:7"), Messages: said("2")},
		{Name: "Fewer", Before: State{}, Call: Answers(add(-7), -2), After: kept("-2", ttl, "1:-2")},
		{Name: "What is there counts", Before: has("3"), Call: Answers(add(2), 5), After: kept("5", 0, "1:5"), Messages: said("2")},
	})
}
