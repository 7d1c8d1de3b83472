package fencedlock_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	. "github.com/redlatch/redlatch/internal/scripts/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	key     = "k"
	token   = "redisson_lock_token:{k}"
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
	return fencedlock.Acquire(key, token, owner, lease)
}

func reenter(owner string, holds int, lease time.Duration, newest int64) scripts.Command[scripts.Attempt] {
	return fencedlock.Reenter(key, token, owner, holds, lease, newest)
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
		return fencedlock.HandOver(key, token, from, to, lease)
	}
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
	})
}

func TestReenter(t *testing.T) {
	Table(t, []Row{
		{Name: "Re-entry issues the next token, raises the count and lengthens the TTL",
			Before: held(lease, Hash{a: "1"}, "7"), Call: Answers(reenter(a, 2, long, 7), got(8)).Lengthens(),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A longer TTL is left alone",
			Before: held(long, Hash{a: "1"}, "7"), Call: Answers(reenter(a, 2, lease, 7), got(8)),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A token that an earlier execution issued is the one",
			Before: held(long, Hash{a: "1"}, "8"), Call: Answers(reenter(a, 2, lease, 7), got(8)),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A greater token is not lowered",
			Before: held(long, Hash{a: "1"}, "9"), Call: Answers(reenter(a, 2, lease, 7), got(9)),
			After: held(long, Hash{a: "2"}, "9")},
		{Name: "A token that was lost is made good",
			Before: held(long, Hash{a: "1"}, ""), Call: Answers(reenter(a, 2, lease, 7), got(8)),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A token that went back is made good",
			Before: held(long, Hash{a: "1"}, "2"), Call: Answers(reenter(a, 2, lease, 7), got(8)),
			After: held(long, Hash{a: "2"}, "8")},
		{Name: "A TTL on the token is removed",
			Before: State{key: {Value: Hash{a: "2"}, TTL: long}, token: {Value: "8", TTL: lease}},
			Call:   Answers(reenter(a, 2, lease, 7), got(8)), After: held(long, Hash{a: "2"}, "8")},
		{Name: "A free lock is not taken, and costs no token",
			Before: held(0, nil, "7"), Call: Answers(reenter(a, 2, lease, 7), refused)},
		{Name: "Another's lock is left alone",
			Before: held(lease, Hash{b: "1"}, "8"), Call: Answers(reenter(a, 2, long, 7), refused)},
		{Name: "A key that is no lock is refused",
			Before: State{key: {Value: "7", TTL: lease}}, Call: Fails(reenter(a, 2, lease, 7), "WRONGTYPE")},
		{Name: "A token that is no number is refused before anything is changed",
			Before: held(lease, Hash{a: "1"}, "x"), Call: Fails(reenter(a, 2, long, 7), "not a token")},
	})
}

func TestLast(t *testing.T) {
	Table(t, []Row{
		{Name: "Before the first token it is 0", Before: State{}, Call: Answers(fencedlock.Last(token), 0)},
		{Name: "It is exact", Before: held(0, nil, huge), Call: Answers(fencedlock.Last(token), 9007199254740995)},
	})
}

func TestGoldenStatesOfAFencedLock(t *testing.T) {
	Sequence(t, []Row{
		{Name: "The first acquisition has token 1",
			Before: State{}, Call: Answers(acquire(a, lease), got(1)), After: held(lease, Hash{a: "1"}, "1")},
		{Name: "The re-entry has token 2",
			Call: Answers(reenter(a, 2, lease, 1), got(2)).Lengthens(), After: held(lease, Hash{a: "2"}, "2")},
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
