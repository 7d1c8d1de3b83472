package fencedlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

const (
	seen  = "redlatch_guard:{k}"
	first = "redlatch_guard_owner:{k}"
	lanes = "redlatch_lanes:{k}:" + u
	data  = "{k}:state"
)

var guard = fencedlock.Guarded{Seen: seen, Owner: first}

// guarded is a guard that has seen a token, from an owner if one has said so.
func guarded(greatest string, owner ...string) State {
	state := State{seen: {Value: greatest}}
	if len(owner) > 0 {
		state[first] = Key{Value: owner[0]}
	}
	return state
}

func TestClaim(t *testing.T) {
	claim := func(token int64) scripts.Command[int64] { return fencedlock.Claim(guard, token, "") }
	by := func(owner string, token int64) scripts.Command[int64] { return fencedlock.Claim(guard, token, owner) }
	Table(t, []Row{
		{Name: "The first claim is admitted", Before: State{}, Call: Answers(claim(5), 0), After: guarded("5")},
		{Name: "A greater token is admitted", Before: guarded("9"), Call: Answers(claim(10), 0), After: guarded("10")},
		{Name: "The same token is admitted", Before: guarded("10"), Call: Answers(claim(10), 0)},
		{Name: "A smaller token is refused and told the greatest", Before: guarded("10"), Call: Answers(claim(9), 10)},
		{Name: "Tokens beyond the exact numbers of Lua are told apart",
			Before: guarded(huge), Call: Answers(claim(9007199254740994), 9007199254740995)},

		{Name: "The first owner of a token is noted", Before: State{}, Call: Answers(by(a, 5), 0), After: guarded("5", "5 "+a)},
		{Name: "So is the first that says who it is", Before: guarded("5"), Call: Answers(by(a, 5), 0), After: guarded("5", "5 "+a)},
		{Name: "It may come again", Before: guarded("5", "5 "+a), Call: Answers(by(a, 5), 0)},
		{Name: "Another owner of the same token is refused", Before: guarded("5", "5 "+a), Call: Answers(by(b, 5), 5)},
		{Name: "The token of another kind of length is another's", Before: guarded("15", "15 "+a), Call: Answers(by(a, 5), 15)},
		{Name: "Whoever says nothing is admitted, and the owner stays", Before: guarded("5", "5 "+a), Call: Answers(claim(5), 0)},
		{Name: "A greater token is another owner's", Before: guarded("5", "5 "+a), Call: Answers(by(b, 6), 0), After: guarded("6", "6 "+b)},
		{Name: "Or nobody's, and then the owner of the former has no say",
			Before: guarded("5", "5 "+a), Call: Answers(claim(6), 0), After: guarded("6", "5 "+a)},
		{Name: "and the first who says so is the owner",
			Before: guarded("6", "5 "+a), Call: Answers(by(b, 6), 0), After: guarded("6", "6 "+b)},
	})
}

// after is the state after a write by operation seq, with the lanes' memory of it.
func after(greatest string, seq string, value any, owner ...string) State {
	state := guarded(greatest, owner...)
	state[data], state[lanes] = Key{Value: value}, Key{Value: Hash{"0": seq + ":0"}, TTL: 150 * time.Second}
	return state
}

func TestWrite(t *testing.T) {
	by := func(owner string, token int64, command string, args ...any) scripts.Command[int64] {
		return fencedlock.Write(guard, lane.Call{Key: lanes, Lane: 0, Seq: 4}, token, owner, command, data, args)
	}
	write := func(token int64, command string, args ...any) scripts.Command[int64] {
		return by("", token, command, args...)
	}
	before := func(greatest string, value any, owner ...string) State {
		state := guarded(greatest, owner...)
		state[data] = Key{Value: value}
		return state
	}
	Table(t, []Row{
		{Name: "The first write is made",
			Before: State{}, Call: Answers(write(5, "set", "paid"), 0), After: after("5", "4", "paid")},
		{Name: "A greater token writes",
			Before: before("5", "open"), Call: Answers(write(6, "set", "paid"), 0), After: after("6", "4", "paid")},
		{Name: "The same token writes",
			Before: before("5", "open"), Call: Answers(write(5, "set", "paid"), 0), After: after("5", "4", "paid")},
		{Name: "A smaller token does not write and is told the greatest",
			Before: before("10", "open"), Call: Answers(write(9, "set", "paid"), 10)},
		{Name: "The owner of the token is noted",
			Before: before("5", "open"), Call: Answers(by(a, 6, "set", "paid"), 0), After: after("6", "4", "paid", "6 "+a)},
		{Name: "Another owner of the same token does not write",
			Before: before("6", "open", "6 "+a), Call: Answers(by(b, 6, "set", "paid"), 6)},
		{Name: "A command that fails notes no owner",
			Before: before("5", "open"), Call: Fails(by(a, 6, "hset", "a", "1"), "WRONGTYPE")},
		{Name: "A command that is not idempotent is executed once",
			Before: before("5", "41"), Call: Answers(write(5, "incrby", 1), 0), After: after("5", "4", "42")},
		{Name: "A command with many arguments",
			Before: State{}, Call: Answers(write(5, "hset", "a", "1", "b", "2"), 0), After: after("5", "4", Hash{"a": "1", "b": "2"})},
		{Name: "A command that fails is an error and leaves nothing behind",
			Before: before("5", "open"), Call: Fails(write(6, "hset", "a", "1"), "WRONGTYPE")},
		{Name: "An operation that was given up is refused",
			Before: State{lanes: {Value: Hash{"0": "5:0"}}, data: {Value: "1"}}, Call: Fails(write(5, "set", "paid"), "REDLATCH-STALE")},
	})
}

func TestAFullServerTakesGuardedDeletionsOnly(t *testing.T) {
	ctx := t.Context()
	client := redistest.Process(t, "--maxmemory-policy", "noeviction").Client(t)
	require.NoError(t, client.Set(ctx, data, "open", 0).Err())
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	write := func(seq int64, command string, args ...any) error {
		_, err := Send(ctx, client, fencedlock.Write(guard, lane.Call{Key: lanes, Seq: seq}, 5, a, command, data, args))
		return err
	}
	require.ErrorContains(t, write(2, "set", "paid"), "OOM")
	require.Zero(t, client.Exists(ctx, seen, first, lanes).Val())
	require.Equal(t, "open", client.Get(ctx, data).Val())
	require.NoError(t, write(4, "del"))
	require.Equal(t, "5", client.Get(ctx, seen).Val())
	require.Equal(t, "5 "+a, client.Get(ctx, first).Val())
	require.Zero(t, client.Exists(ctx, data).Val())
}
