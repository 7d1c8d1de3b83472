package fencedlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	. "github.com/redlatch/redlatch/internal/scripts/statetest"
)

const (
	seen  = "redlatch_guard:{k}"
	lanes = "redlatch_lanes:{k}:" + u
	data  = "{k}:state"
)

func TestClaim(t *testing.T) {
	guarded := func(greatest string) State { return State{seen: {Value: greatest}} }
	Table(t, []Row{
		{Name: "The first claim is admitted",
			Before: State{}, Call: Answers(fencedlock.Claim(seen, 5), 0), After: guarded("5")},
		{Name: "A greater token is admitted",
			Before: guarded("9"), Call: Answers(fencedlock.Claim(seen, 10), 0), After: guarded("10")},
		{Name: "The same token is admitted", Before: guarded("10"), Call: Answers(fencedlock.Claim(seen, 10), 0)},
		{Name: "A smaller token is refused and told the greatest",
			Before: guarded("10"), Call: Answers(fencedlock.Claim(seen, 9), 10)},
		{Name: "Tokens beyond the exact numbers of Lua are told apart",
			Before: guarded(huge), Call: Answers(fencedlock.Claim(seen, 9007199254740994), 9007199254740995)},
	})
}

// after is the state after a write by operation seq, with the lanes' memory of it.
func after(greatest string, seq string, value any) State {
	return State{seen: {Value: greatest}, data: {Value: value},
		lanes: {Value: Hash{"0": seq + ":0"}, TTL: 150 * time.Second}}
}

func TestWrite(t *testing.T) {
	write := func(token int64, command string, args ...any) scripts.Command[int64] {
		return fencedlock.Write(seen, lane.Call{Key: lanes, Lane: 0, Seq: 4}, token, command, data, args)
	}
	before := func(greatest string, value any) State { return State{seen: {Value: greatest}, data: {Value: value}} }
	Table(t, []Row{
		{Name: "The first write is made",
			Before: State{}, Call: Answers(write(5, "set", "paid"), 0), After: after("5", "4", "paid")},
		{Name: "A greater token writes",
			Before: before("5", "open"), Call: Answers(write(6, "set", "paid"), 0), After: after("6", "4", "paid")},
		{Name: "The same token writes",
			Before: before("5", "open"), Call: Answers(write(5, "set", "paid"), 0), After: after("5", "4", "paid")},
		{Name: "A smaller token does not write and is told the greatest",
			Before: before("10", "open"), Call: Answers(write(9, "set", "paid"), 10)},
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
		_, err := Send(ctx, client, fencedlock.Write(seen, lane.Call{Key: lanes, Seq: seq}, 5, command, data, args))
		return err
	}
	require.ErrorContains(t, write(2, "set", "paid"), "OOM")
	require.Zero(t, client.Exists(ctx, seen, lanes).Val())
	require.Equal(t, "open", client.Get(ctx, data).Val())
	require.NoError(t, write(4, "del"))
	require.Equal(t, "5", client.Get(ctx, seen).Val())
	require.Zero(t, client.Exists(ctx, data).Val())
}
