package countdownlatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/countdownlatch"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// A sight is of a state what can be compared.
type sight struct {
	Exists bool
	Count  int64
	TTL    time.Duration
	Round  string
	Fate   countdownlatch.Fate // of the last latch
}

func TestAwait(t *testing.T) {
	await := scripts.Map(countdownlatch.Await(of, countdownlatch.Seen{Round: "x:3"}), func(s countdownlatch.State) sight {
		return sight{s.Exists, s.Count, s.TTL, s.Seen().Round, s.For(countdownlatch.Seen{})}
	})
	gone := func(fate countdownlatch.Fate) sight { return sight{false, 0, -1, "0", fate} }
	Table(t, []Row{
		{Name: "Nothing is known", Before: State{}, Call: Answers(await, gone(countdownlatch.NotSet))},
		{Name: "Another program's latch", Before: has("9223372036854775807"),
			Call: Answers(await, sight{true, 9223372036854775807, -1, "0", countdownlatch.Counting})},
		{Name: "With a TTL", Before: State{key: {Value: "2", TTL: ttl}}, Call: Answers(await, sight{true, 2, ttl, "0", countdownlatch.Counting})},
		{Name: "One of ours", Before: noted(has("2"), 0, "epoch", "x", "round", "3"),
			Call: Answers(await, sight{true, 2, -1, "x:3", countdownlatch.Counting})},
		{Name: "Another program's after ours", Before: noted(has("2"), 0, "epoch", "x", "round", "3", "end", "deleted"),
			Call: Answers(await, sight{true, 2, -1, "0", countdownlatch.Counting})},
		{Name: "Another program's 0 is open", Before: has("0"), Call: Answers(await, sight{true, 0, -1, "0", countdownlatch.Counted})},
		{Name: "Counted down", Before: noted(State{}, 0, "epoch", "x", "round", "3", "end", "counted"), Call: Answers(await, gone(countdownlatch.Counted))},
		{Name: "Deleted", Before: noted(State{}, 0, "epoch", "x", "round", "3", "end", "deleted"), Call: Answers(await, gone(countdownlatch.Deleted))},
		{Name: "Gone, and its TTL is over", Before: noted(State{}, 0, "epoch", "x", "round", "3", "until", -time.Minute),
			Call: Answers(await, sight{false, 0, -1, "x:3", countdownlatch.Expired})},
		{Name: "Gone while it had a TTL", Before: noted(State{}, 0, "epoch", "x", "round", "3", "until", ttl),
			Call: Answers(await, sight{false, 0, -1, "x:3", countdownlatch.Counted})},
		{Name: "Gone without a TTL", Before: noted(State{}, 0, "epoch", "x", "round", "3"),
			Call: Answers(await, sight{false, 0, -1, "x:3", countdownlatch.Counted})},
		{Name: "The last one was another program's", Before: noted(State{}, 0, "epoch", "x", "round", "3", "end", "counted", "foreign", "deleted"),
			Call: Answers(await, gone(countdownlatch.Deleted))},
		{Name: "A record that runs out is kept while the latch is there", Before: State{key: {Value: "2"}, record: {Value: Hash{"epoch": "x", "round": "3"}, TTL: time.Hour}},
			Call: Answers(await, sight{true, 2, -1, "x:3", countdownlatch.Counting}).Lengthens(), After: noted(has("2"), 0, "epoch", "x", "round", "3")},
		{Name: "How another program's ended is no news of its next one", Before: noted(has("2"), 0, "epoch", "x", "round", "3", "end", "counted", "foreign", "deleted"),
			Call: Answers(await, sight{true, 2, -1, "0", countdownlatch.Counting}), After: noted(has("2"), 0, "epoch", "x", "round", "3", "end", "counted")},
		{Name: "A lock is no latch", Before: wrong, Call: Fails(await, "WRONGTYPE")},
		{Name: "A record that is none is an error", Before: State{key: {Value: "1"}, record: {Value: "x"}}, Call: Fails(await, "WRONGTYPE")},
	})
}

// A waiter has seen a latch, and looks again.
func TestTheFateOfALatchThatAWaiterHasSeen(t *testing.T) {
	const now = 1_000_000
	type fields = map[string]string
	ours := func(round string) fields { return fields{"epoch": "x", "round": round} }
	with := func(f fields, more ...string) fields {
		all := fields{}
		for k, v := range f {
			all[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for _, row := range []struct {
		name   string
		round  string
		until  int64
		count  int64
		record fields
		want   countdownlatch.Fate
	}{
		{"it still counts", "x:3", 0, 2, ours("3"), countdownlatch.Counting},
		{"it is counted down", "x:3", 0, 0, with(ours("3"), "end", "counted"), countdownlatch.Counted},
		{"it is deleted", "x:3", 0, 0, with(ours("3"), "end", "deleted"), countdownlatch.Deleted},
		{"it is gone without a word", "x:3", 0, 0, ours("3"), countdownlatch.Counted},
		{"it is gone before its TTL is over", "x:3", now + 1000, 0, ours("3"), countdownlatch.Counted},
		{"it is gone and its TTL is over", "x:3", now, 0, ours("3"), countdownlatch.Expired},
		{"it was counted down when its TTL was nearly over", "x:3", now - 1, 0, with(ours("3"), "end", "counted"), countdownlatch.Counted},
		{"its TTL was removed after it was set", "x:3", 0, 0, with(ours("3"), "until", "5"), countdownlatch.Counted},
		{"the next round counts", "x:3", 0, 5, ours("4"), countdownlatch.Counted},
		{"the next round counts, and it was deleted", "x:3", 0, 5, with(ours("4"), "past", "3d 2x"), countdownlatch.Deleted},
		{"the next round counts, and it had expired", "x:2", now, 5, with(ours("4"), "past", "3d 2x"), countdownlatch.Expired},
		{"the next round was deleted", "x:3", 0, 0, with(ours("4"), "end", "deleted"), countdownlatch.Counted},
		{"ten rounds later", "x:1", 0, 5, with(ours("11"), "past", "10d"), countdownlatch.Counted},
		{"so many rounds later that nobody knows", "x:3", 0, 5, with(ours("50"), "from", "4", "past", "40d"), countdownlatch.Expired},
		{"as many rounds later as are known", "x:4", 0, 5, with(ours("50"), "from", "4", "past", "40d"), countdownlatch.Counted},
		{"another program has set the next", "x:3", 0, 5, with(ours("3"), "end", "deleted"), countdownlatch.Deleted},
		{"another program's next was deleted", "x:3", 0, 0, with(ours("3"), "end", "counted", "foreign", "deleted"), countdownlatch.Counted},
		{"the server has lost everything", "x:3", 0, 0, nil, countdownlatch.Expired},
		{"the server has lost everything, and it was set again", "x:3", 0, 5, fields{"epoch": "y", "round": "3"}, countdownlatch.Expired},
		{"the server has lost the record alone", "x:3", 0, 5, nil, countdownlatch.Counting},
		{"the server has lost the record alone, and there is a new one", "x:3", 0, 5, fields{"epoch": "y"}, countdownlatch.Counting},

		{"another program's still counts", "0", 0, 2, nil, countdownlatch.Counting},
		{"another program's is gone", "0", 0, 0, nil, countdownlatch.Counted},
		{"another program's had a TTL that is over", "0", now, 0, nil, countdownlatch.Expired},
		{"another program's was counted down here", "0", now, 0, fields{"foreign": "counted"}, countdownlatch.Counted},
		{"another program's was deleted here", "0", 0, 0, fields{"foreign": "deleted"}, countdownlatch.Deleted},
		{"another program's was deleted here, and a round counts", "0", 0, 5, with(ours("4"), "past", "0d 3x"), countdownlatch.Deleted},
		{"another program's is over, and a round counts", "0", 0, 5, with(ours("4"), "past", "10d"), countdownlatch.Counted},
		{"another program's is over, and a round was deleted", "0", 0, 0, with(ours("4"), "end", "deleted"), countdownlatch.Counted},
	} {
		state := countdownlatch.State{Exists: row.count > 0, Count: row.count, TTL: -1, Now: now, Record: row.record}
		require.Equal(t, row.want, state.For(countdownlatch.Seen{Round: row.round, Until: row.until}), row.name)
	}
	foreign := countdownlatch.Seen{Round: countdownlatch.Foreign, Epoch: "x"}
	for _, row := range []struct {
		name   string
		count  int64
		record fields
		want   countdownlatch.Fate
	}{
		{"it still counts", 2, fields{"epoch": "x"}, countdownlatch.Counting},
		{"the server has lost the record alone", 2, fields{"epoch": "y"}, countdownlatch.Counting},
		{"it is gone", 0, fields{"epoch": "x"}, countdownlatch.Counted},
		{"it was deleted here", 0, fields{"epoch": "x", "foreign": "deleted"}, countdownlatch.Deleted},
		{"it is over, and a round counts", 5, ours("1"), countdownlatch.Counted},
		{"the server has lost everything", 0, nil, countdownlatch.Expired},
		{"the server has lost everything, and a round counts", 5, fields{"epoch": "y", "round": "1"}, countdownlatch.Expired},
	} {
		state := countdownlatch.State{Exists: row.count > 0, Count: row.count, TTL: -1, Now: now, Record: row.record}
		require.Equal(t, row.want, state.For(foreign), row.name)
	}
}
