package permitsemaphore_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/scripts/row"
	. "github.com/redlatch/redlatch/internal/scripts/statetest"
)

func TestSwap(t *testing.T) {
	const d = "dddddddddddddddd"
	alone := wake
	alone.Row = keys.SemaphoreRow(key)
	swap := func(ids, fresh []string) scripts.Command[int64] {
		return permitsemaphore.Swap(names, ids, fresh, "session", lease, alone)
	}
	one := swap([]string{a}, []string{b})
	unasked := permitsemaphore.Swap(names, []string{a}, []string{b}, "", lease, alone)
	Table(t, []Row{
		{Name: "The fresh id is there with its lease, and the old one is not", Before: taken("0", Deadlines{a: soon}),
			Call: AnswersThen(one, row.Kept, row.Kept), After: taken("0", Deadlines{b: lease})},
		{Name: "Of several all are there", Before: taken("1", Scores{a: never, b: never}), Call: Answers(swap([]string{a, b}, []string{c, d}), row.Kept),
			After: taken("1", Deadlines{c: lease, d: lease})},
		{Name: "It is not asked who waits", Before: taken("0", Deadlines{a: soon}),
			Call: AnswersThen(unasked, row.Renamed, row.Renamed), After: taken("0", Deadlines{b: lease})},
		{Name: "The TTLs stay there too", Before: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{a: soon}, TTL: ttl}},
			Call: Answers(unasked, row.Renamed), After: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{b: lease}, TTL: ttl}}},
		{Name: "One that has expired is lost there too, and comes back", Before: taken("0", Deadlines{a: old}),
			Call: Answers(unasked, permitsemaphore.None), After: has("1"), Messages: said("1")},
		{Name: "One that is gone is lost there too", Before: taken("0", Deadlines{c: soon}), Call: Answers(unasked, permitsemaphore.None)},
		{Name: "A lock is no semaphore there either", Before: wrong, Call: Fails(unasked, "WRONGTYPE")},
		{Name: "One without a lease", Before: taken("0", Deadlines{a: soon}),
			Call: Answers(permitsemaphore.Swap(names, []string{a}, []string{b}, "session", noLease, alone), row.Kept), After: taken("0", Scores{b: never})},
		{Name: "The TTLs stay", Before: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{a: soon}, TTL: ttl}},
			Call: Answers(one, row.Kept), After: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{b: lease}, TTL: ttl}}},
		{Name: "Without a row nobody is known", Before: taken("0", Deadlines{a: soon}),
			Call: AnswersThen(permitsemaphore.Swap(names, []string{a}, []string{b}, "session", lease, wake), 0, permitsemaphore.None), After: has("1"), Messages: said("1")},
		{Name: "A debt is paid", Before: taken("-1", Deadlines{a: soon}), Call: AnswersThen(one, 0, permitsemaphore.None), After: has("0")},
		{Name: "A debt is paid, where it is not asked who waits, too", Before: taken("-1", Deadlines{a: soon}),
			Call: AnswersThen(unasked, 0, permitsemaphore.None), After: has("0")},
		{Name: "A permit that is gone is lost", Before: has("0"), Call: Answers(one, permitsemaphore.None)},
		{Name: "One that has expired is lost, and comes back", Before: taken("0", Deadlines{a: old}), Call: Answers(one, permitsemaphore.None),
			After: has("1"), Messages: said("1")},
		{Name: "Of several that are not all there the rest comes back", Before: taken("0", Deadlines{b: soon}),
			Call: AnswersThen(swap([]string{a, b}, []string{c, d}), permitsemaphore.Some, permitsemaphore.None), After: has("1"), Messages: said("1")},
		{Name: "Nothing is put back where there is no semaphore", Before: State{permits: {Value: Scores{a: never, c: never}}},
			Call: Answers(one, permitsemaphore.None), After: State{permits: {Value: Scores{c: never}}}},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(one, "WRONGTYPE")},
		{Name: "Text is no set of permits", Before: mixed, Call: Fails(one, "WRONGTYPE")},
	})
}
