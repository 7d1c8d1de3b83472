package fencedlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	key     = "k"
	token   = "redisson_lock_token:{k}"
	line    = "redlatch_lock_row:{k}"
	u       = "b983c153-7421-469a-addb-44fb92259a1b"
	a, b    = u + ":42", u + ":43"
	lease   = 30 * time.Second
	long    = 90 * time.Second
	forever = -time.Millisecond // what a reply says of a key without TTL
	huge    = "9007199254740995"
)

var refused = scripts.Attempt{}

// held is a fenced lock with the token issued last, "" for none.
func held(ttl time.Duration, fields Hash, last string) State {
	state := State{}
	if fields != nil {
		state[key] = Key{Value: fields, TTL: ttl}
	}
	if last != "" {
		state[token] = Key{Value: last}
	}
	return state
}

func got(n int64) scripts.Attempt { return scripts.Attempt{Held: true, Token: n} }

func acquire(owner string, lease time.Duration) scripts.Command[scripts.Attempt] {
	return fencedlock.Counted.Acquire(key, token, owner, lease)
}

func reenter(owner string, holds int, lease time.Duration, least int64) scripts.Command[scripts.Attempt] {
	return fencedlock.Reenter(key, token, owner, holds, lease, least)
}

func TestAcquire(t *testing.T) {
	Table(t, []Row{
		{Name: "The first token is 1",
			Before: State{}, Call: Answers(acquire(a, lease), got(1)), After: held(lease, Hash{a: "1"}, "1")},
		{Name: "The next acquisition has the next token",
			Before: held(0, nil, "41"), Call: Answers(acquire(a, lease), got(42)), After: held(lease, Hash{a: "1"}, "42")},
		{Name: "A token beyond the exact numbers of Lua is exact",
			Before: held(0, nil, "9007199254740994"), Call: Answers(acquire(a, lease), got(9007199254740995)),
			After: held(lease, Hash{a: "1"}, huge)},
		{Name: "A TTL that somebody put on the token is removed",
			Before: State{token: {Value: "41", TTL: time.Minute}}, Call: Answers(acquire(a, lease), got(42)),
			After: held(lease, Hash{a: "1"}, "42")},
		{Name: "A repetition answers the same token and leaves TTL and count alone",
			Before: held(long, Hash{a: "3"}, "7"), Call: Answers(acquire(a, lease), got(7))},
		{Name: "A repetition that finds the token gone begins again",
			Before: held(long, Hash{a: "1"}, ""), Call: Answers(acquire(a, lease), got(1)), After: held(long, Hash{a: "1"}, "1")},
		{Name: "Another's lock tells how long it lasts, and costs no token",
			Before: held(lease, Hash{a: "1"}, "7"), Call: Answers(acquire(b, long), scripts.Attempt{Remaining: lease})},
		{Name: "Another's lock without TTL is not taken for a success",
			Before: held(0, Hash{a: "1"}, "7"), Call: Answers(acquire(b, long), scripts.Attempt{Remaining: forever})},
		{Name: "A key that is no lock is refused",
			Before: State{key: {Value: "7", TTL: lease}}, Call: Fails(acquire(a, lease), "WRONGTYPE")},
		{Name: "A token that is no number is refused before anything is taken",
			Before: held(0, nil, "x"), Call: Fails(acquire(a, lease), "not an integer")},
	})
}

func TestHandOver(t *testing.T) {
	handOver := func(from, to string) scripts.Command[scripts.Attempt] {
		return fencedlock.Counted.HandOver(key, token, from, to, lease, 0, 1)
	}
	block := func(last int64) scripts.Command[scripts.Attempt] {
		return fencedlock.Counted.HandOver(key, token, a, b, lease, last, 64)
	}
	ofBlock := scripts.Attempt{Held: true, Token: 42, Spare: 63}
	gone := scripts.Attempt{Remaining: forever}
	Table(t, []Row{
		{Name: "The other owner holds, with the next token",
			Before: held(long, Hash{a: "2"}, "41"), Call: Answers(handOver(a, b), got(42)), After: held(lease, Hash{b: "1"}, "42")},
		{Name: "A token that was removed starts again",
			Before: held(long, Hash{a: "1"}, ""), Call: Answers(handOver(a, b), got(1)), After: held(lease, Hash{b: "1"}, "1")},
		{Name: "A token beyond the exact numbers of Lua is exact",
			Before: held(lease, Hash{a: "1"}, "9007199254740994"), Call: Answers(handOver(a, b), got(9007199254740995)),
			After: held(lease, Hash{b: "1"}, huge)},
		{Name: "A repetition answers the same token and leaves TTL and count alone",
			Before: held(long, Hash{b: "2"}, "42"), Call: Answers(handOver(a, b), got(42))},
		{Name: "A repetition without a token issues one",
			Before: held(long, Hash{b: "1"}, ""), Call: Answers(handOver(a, b), got(1)), After: held(long, Hash{b: "1"}, "1")},
		{Name: "What was lost is not handed over, and no token is issued",
			Before: held(0, nil, "41"), Call: Answers(handOver(a, b), gone)},
		{Name: "Another's lock is left alone",
			Before: held(lease, Hash{u + ":44": "1"}, "41"), Call: Answers(handOver(a, b), gone)},
		{Name: "A token that is no number leaves the lock as it is",
			Before: held(lease, Hash{a: "1"}, "x"), Call: Fails(handOver(a, b), "not an integer")},

		{Name: "The other owner holds, with a block of tokens",
			Before: held(long, Hash{a: "2"}, "41"), Call: Answers(block(41), ofBlock), After: held(lease, Hash{b: "1"}, "105")},
		{Name: "A block beyond the exact numbers of Lua is exact",
			Before: held(long, Hash{a: "1"}, "9007199254740931"),
			Call:   Answers(block(0), scripts.Attempt{Held: true, Token: 9007199254740932, Spare: 63}), After: held(lease, Hash{b: "1"}, huge)},
		{Name: "A repetition answers the same block",
			Before: held(long, Hash{b: "1"}, "105"), Call: Answers(block(41), ofBlock)},
		{Name: "A repetition that finds the counter lost raises it",
			Before: held(long, Hash{b: "1"}, ""), Call: Answers(block(41), ofBlock), After: held(long, Hash{b: "1"}, "105")},
		{Name: "or gone back",
			Before: held(long, Hash{b: "1"}, "41"), Call: Answers(block(41), ofBlock), After: held(long, Hash{b: "1"}, "105")},
		{Name: "A counter that was lost goes on above the tokens of the one who gives",
			Before: held(long, Hash{a: "1"}, ""), Call: Answers(block(41), ofBlock), After: held(lease, Hash{b: "1"}, "105")},
		{Name: "So does one that went back",
			Before: held(long, Hash{a: "1"}, "9"), Call: Answers(block(41), ofBlock), After: held(lease, Hash{b: "1"}, "105")},
		{Name: "A counter that is above them is not lowered",
			Before: held(long, Hash{a: "1"}, "41"), Call: Answers(block(9), ofBlock), After: held(lease, Hash{b: "1"}, "105")},
		{Name: "By who has lost the lock nothing is issued",
			Before: held(lease, Hash{u + ":44": "1"}, "105"), Call: Answers(block(41), gone)},
	})
}

func TestReenter(t *testing.T) {
	Table(t, []Row{
		{Name: "Re-entry issues the next token, raises the count and lengthens the TTL",
			Before: held(lease, Hash{a: "1"}, "7"), Call: Answers(reenter(a, 2, long, 8), got(8)).Lengthens(),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A longer TTL is left alone",
			Before: held(long, Hash{a: "1"}, "7"), Call: Answers(reenter(a, 2, lease, 8), got(8)),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A token that an earlier execution issued is the one",
			Before: held(long, Hash{a: "1"}, "8"), Call: Answers(reenter(a, 2, lease, 8), got(8)),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A greater token is not lowered",
			Before: held(long, Hash{a: "1"}, "9"), Call: Answers(reenter(a, 2, lease, 8), got(9)),
			After: held(long, Hash{a: "2"}, "9")},
		{Name: "A token that was lost is made good",
			Before: held(long, Hash{a: "1"}, ""), Call: Answers(reenter(a, 2, lease, 8), got(8)),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A token that went back is made good",
			Before: held(long, Hash{a: "1"}, "2"), Call: Answers(reenter(a, 2, lease, 8), got(8)),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A token out of the owner's block is not issued again",
			Before: held(long, Hash{a: "1"}, "105"), Call: Answers(reenter(a, 2, lease, 105), got(105)),
			After: held(long, Hash{a: "2"}, "105")},
		{Name: "The last of a block that was lost is made good",
			Before: held(long, Hash{a: "1"}, "3"), Call: Answers(reenter(a, 2, lease, 105), got(105)),
			After: held(long, Hash{a: "2"}, "105")},
		{Name: "Tokens beyond the exact numbers of Lua are told apart",
			Before: held(long, Hash{a: "1"}, "9007199254740994"), Call: Answers(reenter(a, 2, lease, 9007199254740995), got(9007199254740995)),
			After: held(long, Hash{a: "2"}, huge)},
		{Name: "A TTL on the token is removed",
			Before: State{key: {Value: Hash{a: "2"}, TTL: long}, token: {Value: "8", TTL: lease}},
			Call:   Answers(reenter(a, 2, lease, 8), got(8)), After: held(long, Hash{a: "2"}, "8")},
		{Name: "A free lock is not taken, and costs no token",
			Before: held(0, nil, "7"), Call: Answers(reenter(a, 2, lease, 8), refused)},
		{Name: "Another's lock is left alone",
			Before: held(lease, Hash{b: "1"}, "8"), Call: Answers(reenter(a, 2, long, 8), refused)},
		{Name: "A key that is no lock is refused",
			Before: State{key: {Value: "7", TTL: lease}}, Call: Fails(reenter(a, 2, lease, 8), "WRONGTYPE")},
		{Name: "A token that is no number is refused before anything is changed",
			Before: held(lease, Hash{a: "1"}, "x"), Call: Fails(reenter(a, 2, long, 8), "not a token")},
	})
}

// A release carries the last token of its owner.
func TestPassRaisesACounterThatWasLost(t *testing.T) {
	pass := func(owner string, last int64) scripts.Command[row.Release] {
		return fencedlock.Counted.Pass(key, token, owner, scripts.Wake{}, row.Turn{Row: keys.LockRowKeys("k"), Lease: lease, Token: last})
	}
	freed := row.Release{Freed: true}
	Table(t, []Row{
		{Name: "The counter is there", Before: held(lease, Hash{a: "1"}, "105"), Call: AnswersThen(pass(a, 105), freed, row.Release{}), After: held(0, nil, "105")},
		{Name: "It is above", Before: held(lease, Hash{a: "1"}, "105"), Call: AnswersThen(pass(a, 41), freed, row.Release{}), After: held(0, nil, "105")},
		{Name: "It was lost", Before: held(lease, Hash{a: "1"}, ""), Call: AnswersThen(pass(a, 105), freed, row.Release{}), After: held(0, nil, "105")},
		{Name: "It went back", Before: held(lease, Hash{a: "1"}, "99"), Call: AnswersThen(pass(a, 105), freed, row.Release{}), After: held(0, nil, "105")},
		{Name: "Beyond the exact numbers of Lua",
			Before: held(lease, Hash{a: "1"}, "9007199254740994"), Call: AnswersThen(pass(a, 9007199254740995), freed, row.Release{}), After: held(0, nil, huge)},
		{Name: "It is no number, which is not the release's concern",
			Before: held(lease, Hash{a: "1"}, "x"), Call: AnswersThen(pass(a, 105), freed, row.Release{}), After: held(0, nil, "x")},
		{Name: "It is of another type",
			Before: State{key: {Value: Hash{a: "1"}, TTL: lease}, token: {Value: Hash{"x": "1"}}},
			Call:   AnswersThen(pass(a, 105), freed, row.Release{}), After: State{token: {Value: Hash{"x": "1"}}}},
		{Name: "The owner has no token", Before: held(lease, Hash{a: "1"}, ""), Call: AnswersThen(pass(a, 0), freed, row.Release{}), After: held(0, nil, "")},
		{Name: "The owner has lost the lock, and its execution is late",
			Before: held(lease, Hash{b: "1"}, "3"), Call: Answers(pass(a, 105), row.Release{}), After: held(lease, Hash{b: "1"}, "105")},
	})
}

func TestAFullServerTakesAReleaseAlthoughTheCounterIsLost(t *testing.T) {
	ctx := t.Context()
	client := redistest.Process(t, "--maxmemory-policy", "noeviction").Client(t)
	require.NoError(t, client.HSet(ctx, key, a, "1").Err())
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	released, err := Send(ctx, client, fencedlock.Counted.Pass(key, token, a, scripts.Wake{}, row.Turn{Row: keys.LockRowKeys("k"), Lease: lease, Token: 7}))
	require.NoError(t, err)
	require.True(t, released.Freed)
	require.ErrorContains(t, client.HSet(ctx, key, a, "1").Err(), "OOM")
}

// Tokens of a clock are compared with the server's.
func TestClockedTokensAreTheServersTimeAtLeast(t *testing.T) {
	ctx := t.Context()
	client := redistest.Process(t).Client(t)
	now := func() int64 {
		t.Helper()
		time, err := client.Time(ctx).Result()
		require.NoError(t, err)
		return time.UnixMicro()
	}
	var ahead int64 // of the clock
	issue := func(cmd scripts.Command[scripts.Attempt]) scripts.Attempt {
		t.Helper()
		before := now()
		got, err := Send(ctx, client, cmd)
		require.NoError(t, err)
		require.True(t, got.Held)
		last := got.Token + got.Spare
		require.EqualValues(t, last, client.IncrBy(ctx, token, 0).Val())
		require.EqualValues(t, -1, client.TTL(ctx, token).Val())
		require.True(t, last >= before && last <= now() || ahead > 0, "%d, and now it is %d", last, now())
		return got
	}
	first := issue(fencedlock.Clocked.Acquire(key, token, a, lease))
	repeated, err := Send(ctx, client, fencedlock.Clocked.Acquire(key, token, a, lease))
	require.NoError(t, err)
	require.Equal(t, first, repeated)
	block := issue(fencedlock.Clocked.HandOver(key, token, a, b, lease, first.Token, 64))
	require.EqualValues(t, 63, block.Spare)
	require.Greater(t, block.Token, first.Token)
	repeated, err = Send(ctx, client, fencedlock.Clocked.HandOver(key, token, a, b, lease, first.Token, 64))
	require.NoError(t, err)
	require.Equal(t, block, repeated)

	require.NoError(t, client.Del(ctx, key, token).Err()) // all that the server knew
	after := issue(fencedlock.Clocked.Acquire(key, token, a, lease))
	require.Greater(t, after.Token, block.Token+63)

	ahead = now() + time.Hour.Microseconds()
	require.NoError(t, client.Set(ctx, token, ahead, time.Minute).Err())
	require.NoError(t, client.Del(ctx, key).Err())
	require.Equal(t, got(ahead+1), issue(fencedlock.Clocked.Acquire(key, token, b, lease)), "a counter that is ahead counts on")
	passed, err := Send(ctx, client, fencedlock.Clocked.Enlist(key, token, b, lease, keys.LockRowKeys("k"), lease, false))
	require.NoError(t, err)
	require.Equal(t, ahead+1, passed.Token)
}

func TestTheLastTokenIsRead(t *testing.T) {
	Table(t, []Row{
		{Name: "Before the first token it is 0", Before: State{}, Call: Answers(lane.Read(token), 0)},
		{Name: "It is exact", Before: held(0, nil, huge), Call: Answers(lane.Read(token), 9007199254740995)},
	})
}

func TestGoldenStatesOfAFencedLock(t *testing.T) {
	Sequence(t, []Row{
		{Name: "The first acquisition has token 1",
			Before: State{}, Call: Answers(acquire(a, lease), got(1)), After: held(lease, Hash{a: "1"}, "1")},
		{Name: "The re-entry has token 2",
			Call: Answers(reenter(a, 2, lease, 2), got(2)).Lengthens(), After: held(lease, Hash{a: "2"}, "2")},
		{Name: "A contender is told the TTL", Call: Answers(acquire(b, lease), scripts.Attempt{Remaining: lease})},
		{Name: "A partial release leaves the token",
			Call: Answers(rlock.Recount(key, a, 1, 0), true), After: held(lease, Hash{a: "1"}, "2")},
		{Name: "The last release leaves the token",
			Call: AnswersThen(rlock.Release(key, a, scripts.Wake{}), true, false), After: held(0, nil, "2")},
		{Name: "The next holder has token 3", Call: Answers(acquire(b, lease), got(3)), After: held(lease, Hash{b: "1"}, "3")},
		{Name: "Forcing leaves the token",
			Call: AnswersThen(rlock.Force(key, scripts.Wake{}), true, false), After: held(0, nil, "3")},
	})
}
