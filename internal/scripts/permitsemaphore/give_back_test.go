package permitsemaphore_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestGiveBack(t *testing.T) {
	back := func(ids ...string) scripts.Command[int64] { return permitsemaphore.GiveBack(names, ids, wake) }
	Table(t, []Row{
		{Name: "A permit comes back and the new total is announced", Before: taken("2", Deadlines{a: lease, b: soon}),
			Call: AnswersThen(back(a), 1, 0), After: taken("3", Deadlines{b: soon}), Messages: said("3")},
		{Name: "Of several their number is", Before: taken("2", Scores{a: never, b: never}),
			Call: AnswersThen(back(a, b), 2, 0), After: has("4"), Messages: said("2")},
		{Name: "Those that are there come back, and the rest is not counted", Before: taken("0", Scores{a: never}),
			Call: AnswersThen(back(a, b), 1, 0), After: has("1"), Messages: said("1")},
		{Name: "An expired one comes back once, and does not count", Before: taken("0", Deadlines{a: old}),
			Call: Answers(back(a), 0), After: has("1"), Messages: said("1")},
		{Name: "With expired ones the new total is announced, however many come back", Before: taken("2", Deadlines{a: lease, b: lease, c: old}),
			Call: AnswersThen(back(a, b), 2, 0), After: has("5"), Messages: said("5")},
		{Name: "A total that is not above 0 is not announced", Before: taken("-2", Deadlines{a: lease}),
			Call: AnswersThen(back(a), 1, 0), After: has("-1")},
		{Name: "Nothing is put back where there is no semaphore", Before: State{permits: {Value: Scores{a: never, b: never}}},
			Call: Answers(back(a), 0), After: State{permits: {Value: Scores{b: never}}}},
		{Name: "The TTLs stay", Before: State{key: {Value: "0", TTL: ttl}, permits: {Value: Scores{a: never, b: never}, TTL: ttl}},
			Call: AnswersThen(back(a), 1, 0), After: State{key: {Value: "1", TTL: ttl}, permits: {Value: Scores{b: never}, TTL: ttl}}, Messages: said("1")},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(back(a), "WRONGTYPE")},
	})
}

func TestGiveBackOne(t *testing.T) {
	withRow := wake
	withRow.Row = keys.SemaphoreRow(key)
	for _, wake := range []scripts.Wake{wake, withRow} {
		back := func(id string) scripts.Command[int64] { return permitsemaphore.GiveBackOne(names, id, wake) }
		Table(t, []Row{
			{Name: "A permit comes back and the new total is announced", Before: taken("2", Deadlines{a: lease, b: soon}),
				Call: AnswersThen(back(a), 1, 0), After: taken("3", Deadlines{b: soon}), Messages: said("3")},
			{Name: "A total that is not above 0 is not announced", Before: taken("-2", Deadlines{a: lease}),
				Call: AnswersThen(back(a), 1, 0), After: has("-1")},
			{Name: "One that is not there has the others put back that have expired", Before: taken("0", Deadlines{b: lease, c: old}),
				Call: Answers(back(a), 0), After: taken("1", Deadlines{b: lease}), Messages: said("1")},
			{Name: "Nothing is put back where there is no semaphore", Before: State{permits: {Value: Scores{a: never, b: never}}},
				Call: Answers(back(a), 0), After: State{permits: {Value: Scores{b: never}}}},
			{Name: "The TTLs stay", Before: State{key: {Value: "0", TTL: ttl}, permits: {Value: Scores{a: never, b: never}, TTL: ttl}},
				Call: AnswersThen(back(a), 1, 0), After: State{key: {Value: "1", TTL: ttl}, permits: {Value: Scores{b: never}, TTL: ttl}}, Messages: said("1")},
			{Name: "A lock is no semaphore", Before: wrong, Call: Fails(back(a), "WRONGTYPE")},
			{Name: "Text is no set of permits", Before: mixed, Call: Fails(back(a), "WRONGTYPE")},
		})
	}
	Table(t, []Row{{Name: "While no script has put an expired one back, no other holder has it", Before: taken("0", Deadlines{a: old}),
		Call: AnswersThen(permitsemaphore.GiveBackOne(names, a, withRow), 1, 0), After: has("1"), Messages: said("1")}})
}
