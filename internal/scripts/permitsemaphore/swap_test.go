package permitsemaphore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/scripts/row"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestSwap(t *testing.T) {
	const d = "dddddddddddddddd"
	alone := wake
	alone.Row = keys.SemaphoreRow(key)
	swap := func(session string, lease time.Duration, ids, fresh string) scripts.Command[permitsemaphore.Swapped] {
		return permitsemaphore.Swap(names, strings.Fields(ids), strings.Fields(fresh), session, lease, alone)
	}
	one, unasked := swap("session", lease, a, b), swap("", lease, a, b)
	two, twoUnasked := swap("session", lease, a+" "+b, c+" "+d), swap("", lease, a+" "+b, c+" "+d)
	answer := func(answer int64, there ...bool) permitsemaphore.Swapped {
		return permitsemaphore.Swapped{Answer: answer, There: there}
	}
	kept, renamed, none := answer(row.Kept, true), answer(row.Renamed, true), answer(permitsemaphore.None, false)
	both, noneOfTwo := answer(row.Renamed, true, true), answer(permitsemaphore.None, false, false)
	Table(t, []Row{
		{Name: "The fresh id is there with its lease, and the old one is not", Before: taken("0", Deadlines{a: soon}),
			Call: AnswersThen(one, kept, kept), After: taken("0", Deadlines{b: lease})},
		{Name: "Of several all are there", Before: taken("1", Scores{a: never, b: never}), Call: AnswersThen(two, answer(row.Kept, true, true), answer(row.Kept, true, true)),
			After: taken("1", Deadlines{c: lease, d: lease})},
		{Name: "Of several all are there, and it is not asked who waits", Before: taken("1", Scores{a: never, b: never}),
			Call: AnswersThen(twoUnasked, both, both), After: taken("1", Deadlines{c: lease, d: lease})},
		{Name: "Of several one is gone there", Before: taken("1", Deadlines{b: soon}),
			Call: AnswersThen(twoUnasked, answer(row.Renamed, false, true), answer(row.Renamed, false, true)), After: taken("1", Deadlines{d: lease})},
		{Name: "Of several one has expired there, and comes back", Before: taken("0", Deadlines{a: old, b: soon}),
			Call: Answers(twoUnasked, answer(row.Renamed, false, true)), After: taken("1", Deadlines{d: lease}), Messages: said("1")},
		{Name: "Of several none is there", Before: has("0"), Call: Answers(twoUnasked, noneOfTwo)},
		{Name: "Several pay a debt", Before: taken("-1", Deadlines{a: soon, b: soon}), Call: AnswersThen(twoUnasked, answer(0, true, true), noneOfTwo),
			After: has("1"), Messages: said("2")},
		{Name: "It is not asked who waits", Before: taken("0", Deadlines{a: soon}),
			Call: AnswersThen(unasked, renamed, renamed), After: taken("0", Deadlines{b: lease})},
		{Name: "The TTLs stay there too", Before: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{a: soon}, TTL: ttl}},
			Call: Answers(unasked, renamed), After: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{b: lease}, TTL: ttl}}},
		{Name: "One that has expired is lost there too, and comes back", Before: taken("0", Deadlines{a: old}),
			Call: Answers(unasked, none), After: has("1"), Messages: said("1")},
		{Name: "One that is gone is lost there too", Before: taken("0", Deadlines{c: soon}), Call: Answers(unasked, none)},
		{Name: "A lock is no semaphore there either", Before: wrong, Call: Fails(unasked, "WRONGTYPE")},
		{Name: "One without a lease", Before: taken("0", Deadlines{a: soon}),
			Call: Answers(swap("session", noLease, a, b), kept), After: taken("0", Scores{b: never})},
		{Name: "The TTLs stay", Before: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{a: soon}, TTL: ttl}},
			Call: Answers(one, kept), After: State{key: {Value: "0", TTL: ttl}, permits: {Value: Deadlines{b: lease}, TTL: ttl}}},
		{Name: "Without a row nobody is known", Before: taken("0", Deadlines{a: soon}),
			Call: AnswersThen(permitsemaphore.Swap(names, []string{a}, []string{b}, "session", lease, wake), answer(0, true), none), After: has("1"), Messages: said("1")},
		{Name: "A debt is paid", Before: taken("-1", Deadlines{a: soon}), Call: AnswersThen(one, answer(0, true), none), After: has("0")},
		{Name: "A debt is paid, where it is not asked who waits, too", Before: taken("-1", Deadlines{a: soon}),
			Call: AnswersThen(unasked, answer(0, true), none), After: has("0")},
		{Name: "A permit that is gone is lost", Before: has("0"), Call: Answers(one, none)},
		{Name: "One that has expired is lost, and comes back", Before: taken("0", Deadlines{a: old}), Call: Answers(one, none),
			After: has("1"), Messages: said("1")},
		{Name: "Of several one is gone", Before: taken("0", Deadlines{b: soon}),
			Call: AnswersThen(two, answer(row.Kept, false, true), answer(row.Kept, false, true)), After: taken("0", Deadlines{d: lease})},
		{Name: "Nothing is put back where there is no semaphore", Before: State{permits: {Value: Scores{a: never, c: never}}},
			Call: Answers(one, none), After: State{permits: {Value: Scores{c: never}}}},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(one, "WRONGTYPE")},
		{Name: "Text is no set of permits", Before: mixed, Call: Fails(one, "WRONGTYPE")},
	})
}
