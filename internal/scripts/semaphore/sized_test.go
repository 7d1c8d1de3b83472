package semaphore_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

var (
	five    = lane.Size{Permits: 5}
	passing = lane.Size{Permits: 5, TTL: ttl}
)

func TestASemaphoreThatIsMissingIsSetUpWhenItIsAskedForPermits(t *testing.T) {
	acquire := func(size lane.Size, n int64) scripts.Command[lane.Granted] {
		return semaphore.AcquireSized(key, n, 0, size, wake, row.Candidate{}, first)
	}
	wait := func(n int64) scripts.Command[lane.Granted] {
		return semaphore.AcquireSized(key, n, 0, five, wake, row.Candidate{ID: "p:1", Patience: time.Second}, first)
	}
	Table(t, []Row{
		{Name: "With its number, and what is left is announced",
			Before: State{}, Call: Answers(acquire(five, 2), served()), After: did("3", 0, "1:1"), Messages: said("3")},
		{Name: "With its TTL", Before: State{}, Call: Answers(acquire(passing, 2), served()), After: did("3", ttl, "1:1"), Messages: said("3")},
		{Name: "Nothing is announced where nothing is left",
			Before: State{}, Call: Answers(acquire(five, 5), served()), After: did("0", 0, "1:1")},
		{Name: "Also by one that wants more",
			Before: State{}, Call: Answers(acquire(five, 6), none(5)), After: has("5"), Messages: said("5")},
		{Name: "By those who wait", Before: State{}, Call: Answers(wait(2), served()), After: did("3", 0, "1:1"), Messages: said("3")},
		{Name: "What is there is taken from", Before: has("5"), Call: Answers(acquire(passing, 2), served()), After: did("3", 0, "1:1")},
		{Name: "With less too", Before: State{key: {Value: "2", TTL: ttl}}, Call: Answers(acquire(five, 2), served()), After: did("0", ttl, "1:1")},
		{Name: "None left is not missing", Before: has("0"), Call: Answers(acquire(five, 2), none(0))},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(acquire(five, 1), "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(acquire(five, 1), "not an integer")},
	})
}

func TestMoreThanThereAreToBeIsTold(t *testing.T) {
	more := func(total int64) lane.Granted { return lane.Granted{Served: true, Again: -1, Total: total} }
	acquire := func(n int64) scripts.Command[lane.Granted] {
		return semaphore.AcquireSized(key, n, 0, five, wake, row.Candidate{}, first)
	}
	Table(t, []Row{ // a repetition is answered from the lane, which says nothing of it
		{Name: "More than it has to be", Before: has("9"), Call: AnswersThen(acquire(2), more(9), served()), After: did("7", 0, "1:1")},
		{Name: "However many there are", Before: has(most), Call: AnswersThen(acquire(2), more(1<<39), served()), After: did("9223372036854775805", 0, "1:1")},
	})
}

func TestAddAndDrainOfASemaphoreThatKnowsItsSize(t *testing.T) {
	add := func(d int64) scripts.Command[int64] { return semaphore.AddSized(key, d, passing, wake, first) }
	drain := semaphore.DrainSized(key, five, wake, first)
	Table(t, []Row{
		{Name: "More than it has to be", Before: State{}, Call: Answers(add(2), 7), After: did("7", ttl, "1:7"), Messages: said("7")},
		{Name: "Fewer", Before: State{}, Call: Answers(add(-7), -2), After: did("-2", ttl, "1:-2")},
		{Name: "What is there counts", Before: has("3"), Call: Answers(add(2), 5), After: did("5", 0, "1:5"), Messages: said("5")},
		{Name: "All that it has to be are taken", Before: State{}, Call: Answers(drain, 5), After: did("0", 0, "1:5")},
		{Name: "Or all that are there", Before: has("3"), Call: Answers(drain, 3), After: did("0", 0, "1:3")},
	})
}

func TestWhatIsGivenBackSetsUpNothing(t *testing.T) {
	release := semaphore.ReleaseIfExists(key, 2, wake, first)
	hold := semaphore.KeepSized(key, 2, "session", wake, first)
	yield := semaphore.YieldSized(key, 2, wake, lane.Call{Key: lanes, Lane: 1, Seq: 5})
	Table(t, []Row{
		{Name: "It comes back to what is there", Before: has("1"), Call: Answers(release, true), After: did("3", 0, "1:1"), Messages: said("3")},
		{Name: "To nothing it does not", Before: State{}, Call: Answers(release, false)},
		{Name: "Where others may wait it is not kept", Before: has("0"), Call: Answers(hold, 0), After: did("2", 0, "1:0"), Messages: said("2")},
		{Name: "Of nothing it is not", Before: State{}, Call: Answers(hold, 0), After: only("1:0")},
		{Name: "What was kept is given up", Before: did("0", 0, "4:1"), Call: Answers(yield, 1), After: did("2", 0, "5:1"), Messages: said("2")},
		{Name: "What may have been kept is given up", Before: has("0"), Call: Answers(yield, 1), After: did("2", 0, "5:1"), Messages: said("2")},
		{Name: "With the semaphore it is gone", Before: only("4:1"), Call: Answers(yield, 0), After: only("5:0")},
	})
}
