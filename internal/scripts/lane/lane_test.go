package lane_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The lanes are tried with the semaphore's release, whose effect adds up: executed twice it would show.

const (
	key   = "s"
	lanes = "redlatch_lanes:{s}:session"
	keep  = 150 * time.Second // how long a session's lanes are remembered, from a change on or one up to half a minute before
	short = 20 * time.Second
)

var wake = scripts.Wake{Publish: "PUBLISH", Channel: "redisson_sc:{s}"}

func call(number, seq int64) lane.Call { return lane.Call{Key: lanes, Lane: number, Seq: seq} }

// round is the number at a place of a round, as text.
func round(n, place int64) string { return strconv.FormatInt(n*lane.Round+place, 10) }

func give(n int64, call lane.Call) scripts.Command[int64] {
	return semaphore.Add(key, n, wake, call)
}

func TestLane(t *testing.T) {
	const stale = "REDLATCH-STALE"
	given := []Message{{Channel: wake.Channel, Payload: "7"}}
	Table(t, []Row{
		{Name: "A first operation is executed and remembered for two and a half minutes",
			Before: State{key: {Value: "5"}}, Call: Answers(give(2, call(1, 1)), 7),
			After: State{key: {Value: "7"}, lanes: {Value: Hash{"1": "1:7"}, TTL: keep}}, Messages: given},
		{Name: "A higher number is executed and remembered in place of the last",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": "9:3"}, TTL: short}}, Call: Answers(give(2, call(1, 10)), 7),
			After: State{key: {Value: "7"}, lanes: {Value: Hash{"1": "10:7"}, TTL: short}}, Messages: given},
		{Name: "The first number of a round begins the lifetime anew",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": round(1, -1) + ":3"}, TTL: short}}, Call: Answers(give(2, call(1, lane.Round)), 7),
			After: State{key: {Value: "7"}, lanes: {Value: Hash{"1": round(1, 0) + ":7"}, TTL: keep}}, Messages: given},
		{Name: "So does a number of a much later round",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": round(1, 5) + ":3"}, TTL: short}}, Call: Answers(give(2, call(1, 1_000_000*lane.Round+7)), 7),
			After: State{key: {Value: "7"}, lanes: {Value: Hash{"1": round(1_000_000, 7) + ":7"}, TTL: keep}}, Messages: given},
		{Name: "The next number of a round does not",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": round(1, 0) + ":3"}, TTL: short}}, Call: Answers(give(2, call(1, 2*lane.Round-1)), 7),
			After: State{key: {Value: "7"}, lanes: {Value: Hash{"1": round(2, -1) + ":7"}, TTL: short}}, Messages: given},
		{Name: "The same number is answered from memory and not executed",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": "10:3"}, TTL: short}}, Call: Answers(give(2, call(1, 10)), 3)},
		{Name: "The same number is answered from memory although the key is no counter any more",
			Before: State{key: {Value: List{"x"}}, lanes: {Value: Hash{"1": "10:3"}, TTL: short}}, Call: Answers(give(2, call(1, 10)), 3)},
		{Name: "A negative reply is remembered too",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": "10:-3"}, TTL: short}}, Call: Answers(give(2, call(1, 10)), -3)},
		{Name: "A reply beyond the exact numbers of Lua is remembered exactly",
			Before: State{lanes: {Value: Hash{"1": "10:9223372036854775807"}, TTL: short}},
			Call:   Answers(give(2, call(1, 10)), 9223372036854775807)},
		{Name: "A lower number is refused, and by number, not by text",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": "10:3"}, TTL: short}}, Call: Fails(give(2, call(1, 9)), stale)},
		{Name: "Another lane is another lane",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": "10:3"}, TTL: short}}, Call: Answers(give(2, call(2, 1)), 7),
			After: State{key: {Value: "7"}, lanes: {Value: Hash{"1": "10:3", "2": "1:7"}, TTL: keep}}, Messages: given},
		{Name: "A failed operation is not remembered",
			Before: State{key: {Value: "x"}, lanes: {Value: Hash{"1": "9:3"}, TTL: keep}}, Call: Fails(give(2, call(1, 10)), "not an integer").Lengthens()},
		{Name: "Lanes that are no hash are refused before anything is changed",
			Before: State{key: {Value: "5"}, lanes: {Value: "x"}}, Call: Fails(give(2, call(1, 1)), "WRONGTYPE")},
	})
}

func TestFence(t *testing.T) {
	Table(t, []Row{
		{Name: "The answer of an operation that took effect is answered, and what it did is left as it is",
			Before: State{key: {Value: "7"}, lanes: {Value: Hash{"1": "4:7"}, TTL: short}}, Call: Answers(lane.Fence(key, call(1, 5)), int64(7)),
			After: State{key: {Value: "7"}, lanes: {Value: Hash{"1": "5:7"}, TTL: short}}},
		{Name: "An operation that did not take effect is barred",
			Before: State{key: {Value: "5"}, lanes: {Value: Hash{"1": "3:5"}, TTL: short}}, Call: Answers(lane.Fence(key, call(1, 5)), int64(0)),
			After: State{key: {Value: "5"}, lanes: {Value: Hash{"1": "5:0"}, TTL: short}}},
		{Name: "A lane of which nothing is known is barred",
			Before: State{}, Call: Answers(lane.Fence(key, call(1, 2)), int64(0)),
			After: State{lanes: {Value: Hash{"1": "2:0"}, TTL: keep}}},
		{Name: "A fence that comes late is refused",
			Before: State{lanes: {Value: Hash{"1": "6:1"}, TTL: short}}, Call: Fails(lane.Fence(key, call(1, 5)), "REDLATCH-STALE")},
	})
}

func TestAGhostThatArrivesAfterTheFenceIsRefused(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		ctx, client, name := t.Context(), server.Client(t), server.Key(t, key)
		call := func(seq int64) lane.Call { return lane.Call{Key: "{" + name + "}:lanes", Lane: 1, Seq: seq} }
		ghost := semaphore.Add(name, 2, wake, call(1))

		answer, err := Send(ctx, client, lane.Fence(name, call(2)))
		require.NoError(t, err)
		require.Zero(t, answer)
		_, err = Send(ctx, client, ghost)
		require.True(t, lane.Stale(err), "answered %v", err)
		require.Zero(t, client.Exists(ctx, name).Val())

		total, err := Send(ctx, client, semaphore.Add(name, 2, wake, call(3)))
		require.NoError(t, err)
		require.False(t, lane.Stale(err))
		require.EqualValues(t, 2, total)
	})
}

func TestInspect(t *testing.T) {
	see := lane.Inspect(key)
	Table(t, []Row{
		{Name: "There is none", Before: State{}, Call: Answers(see, lane.Look{})},
		{Name: "Without a TTL", Before: State{key: {Value: "9223372036854775807"}}, Call: Answers(see, lane.Look{Exists: true, Value: 9223372036854775807, TTL: -time.Millisecond})},
		{Name: "With a TTL", Before: State{key: {Value: "-5", TTL: short}}, Call: Answers(see, lane.Look{Exists: true, Value: -5, TTL: short})},
		{Name: "A list is no counter", Before: State{key: {Value: List{"x"}}}, Call: Fails(see, "WRONGTYPE")},
	})
}
