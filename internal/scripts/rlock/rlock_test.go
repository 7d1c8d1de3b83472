package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	key     = "myLock"
	channel = "redisson_lock__channel:{myLock}"
	u       = "b983c153-7421-469a-addb-44fb92259a1b"
	a, b    = u + ":42", u + ":43"
	lease   = 30 * time.Second
	long    = 90 * time.Second
	forever = -time.Millisecond // what a reply says of a key without TTL
)

var (
	wake   = scripts.Wake{Publish: "PUBLISH", Channel: channel}
	silent = scripts.Wake{}
	woken  = []Message{{Channel: channel, Payload: "0"}}
	free   = State{}
	other  = State{key: {Value: "7", TTL: lease}} // no lock at all
)

// held is a lock in the plain layout.
func held(ttl time.Duration, fields Hash) State { return State{key: {Value: fields, TTL: ttl}} }

func TestAcquire(t *testing.T) {
	mine := scripts.Attempt{Held: true}
	Table(t, []Row{
		{Name: "A free lock is taken once, with the lease as TTL",
			Before: free, Call: Answers(rlock.Acquire(key, a, lease), mine), After: held(lease, Hash{a: "1"})},
		{Name: "A part of a millisecond counts as a whole one",
			Before: free, Call: Answers(rlock.Acquire(key, a, lease+time.Nanosecond), mine),
			After: held(lease+time.Millisecond, Hash{a: "1"})},
		{Name: "A repetition leaves TTL and count alone",
			Before: held(long, Hash{a: "3"}), Call: Answers(rlock.Acquire(key, a, lease), mine)},
		{Name: "Another's lock tells how long it lasts",
			Before: held(lease, Hash{a: "1"}), Call: Answers(rlock.Acquire(key, b, long), scripts.Attempt{Remaining: lease})},
		{Name: "Another's lock without TTL says so",
			Before: held(0, Hash{a: "1"}), Call: Answers(rlock.Acquire(key, b, long), scripts.Attempt{Remaining: forever})},
		{Name: "A key that is no lock is refused",
			Before: other, Call: Fails(rlock.Acquire(key, a, lease), "WRONGTYPE")},
	})
}

func TestRecount(t *testing.T) {
	Table(t, []Row{
		{Name: "Re-entry raises the count and lengthens the TTL",
			Before: held(lease, Hash{a: "1"}), Call: Answers(rlock.Recount(key, a, 2, long), true).Lengthens(),
			After: held(long, Hash{a: "2"})},
		{Name: "A partial release lowers the count and never the TTL",
			Before: held(long, Hash{a: "5"}), Call: Answers(rlock.Recount(key, a, 2, lease), true),
			After: held(long, Hash{a: "2"})},
		{Name: "A lock that has lost its TTL gets one",
			Before: held(0, Hash{a: "1"}), Call: Answers(rlock.Recount(key, a, 1, lease), true).Lengthens(),
			After: held(lease, Hash{a: "1"})},
		{Name: "Without a lease the TTL stays",
			Before: held(lease, Hash{a: "1"}), Call: Answers(rlock.Recount(key, a, 2, 0), true),
			After: held(lease, Hash{a: "2"})},
		{Name: "Without a lease a lock without TTL is not deleted",
			Before: held(0, Hash{a: "1"}), Call: Answers(rlock.Recount(key, a, 2, 0), true),
			After: held(0, Hash{a: "2"})},
		{Name: "A free lock is not taken",
			Before: free, Call: Answers(rlock.Recount(key, a, 2, lease), false)},
		{Name: "Another's lock is left alone",
			Before: held(lease, Hash{b: "1"}), Call: Answers(rlock.Recount(key, a, 2, long), false)},
		{Name: "A key that is no lock is refused",
			Before: other, Call: Fails(rlock.Recount(key, a, 2, lease), "WRONGTYPE")},
	})
}

func TestRelease(t *testing.T) {
	Table(t, []Row{
		{Name: "The last hold frees the lock and wakes the waiters",
			Before: held(lease, Hash{a: "1"}), Call: AnswersThen(rlock.Release(key, a, wake), true, false),
			After: free, Messages: woken},
		{Name: "All holds of the owner end, whatever their number",
			Before: held(lease, Hash{a: "3"}), Call: AnswersThen(rlock.Release(key, a, wake), true, false),
			After: free, Messages: woken},
		{Name: "Nobody else's field is touched",
			Before: held(lease, Hash{a: "1", b: "2", "mode": "read"}),
			Call:   AnswersThen(rlock.Release(key, a, wake), true, false),
			After:  held(lease, Hash{b: "2", "mode": "read"}), Messages: woken},
		{Name: "Another's lock is not released",
			Before: held(lease, Hash{b: "1"}), Call: Answers(rlock.Release(key, a, wake), false)},
		{Name: "A free lock stays free, and nobody is woken",
			Before: free, Call: Answers(rlock.Release(key, a, wake), false)},
		{Name: "A spin lock is released without a message",
			Before: held(lease, Hash{a: "1"}), Call: AnswersThen(rlock.Release(key, a, silent), true, false), After: free},
		{Name: "A key that is no lock is refused",
			Before: other, Call: Fails(rlock.Release(key, a, wake), "WRONGTYPE")},
	})
}

func TestHandOver(t *testing.T) {
	moved, gone := scripts.Attempt{Held: true}, scripts.Attempt{Remaining: forever}
	Table(t, []Row{
		{Name: "The one owner gives way to the other, with one hold and the other's lease, also a shorter one, and nobody is woken",
			Before: held(long, Hash{a: "3"}), Call: Answers(rlock.HandOver(key, a, b, lease), moved), After: held(lease, Hash{b: "1"})},
		{Name: "A repetition leaves TTL and count alone",
			Before: held(long, Hash{b: "2"}), Call: Answers(rlock.HandOver(key, a, b, lease), moved)},
		{Name: "What was lost is not handed over",
			Before: free, Call: Answers(rlock.HandOver(key, a, b, lease), gone)},
		{Name: "Another's lock is left alone",
			Before: held(lease, Hash{u + ":44": "1"}), Call: Answers(rlock.HandOver(key, a, b, long), gone)},
		{Name: "A key that is no lock is refused",
			Before: other, Call: Fails(rlock.HandOver(key, a, b, lease), "WRONGTYPE")},
	})
}

func TestRenew(t *testing.T) {
	renew := func(names ...rlock.Renewal) scripts.Command[[]bool] { return Alive(rlock.Renew(names)) }
	Table(t, []Row{
		{Name: "A held lock is lengthened",
			Before: held(lease, Hash{a: "2"}), Call: Answers(renew(rlock.Renewal{Key: key, Owner: a, Lease: long}), []bool{true}).Lengthens(),
			After: held(long, Hash{a: "2"})},
		{Name: "A longer TTL is not shortened",
			Before: held(long*2, Hash{a: "1"}), Call: Answers(renew(rlock.Renewal{Key: key, Owner: a, Lease: lease}), []bool{true})},
		{Name: "A lock that has lost its TTL gets one",
			Before: held(0, Hash{a: "1"}), Call: Answers(renew(rlock.Renewal{Key: key, Owner: a, Lease: lease}), []bool{true}).Lengthens(),
			After: held(lease, Hash{a: "1"})},
		{Name: "A check alone changes nothing",
			Before: held(lease, Hash{a: "1"}), Call: Answers(renew(rlock.Renewal{Key: key, Owner: a}), []bool{true})},
		{Name: "A check alone does not delete a lock without TTL",
			Before: held(0, Hash{a: "1"}), Call: Answers(renew(rlock.Renewal{Key: key, Owner: a}), []bool{true})},
		{Name: "Each name is answered for by itself",
			Before: State{
				"{g}alive":   {Value: Hash{a: "1"}, TTL: lease},
				"{g}taken":   {Value: Hash{b: "1"}, TTL: lease},
				"{g}changed": {Value: "7", TTL: lease},
				"{g}list":    {Value: List{"x"}},
				"{g}checked": {Value: Hash{a: "1"}, TTL: lease},
				"{g}last":    {Value: Hash{b + ":write": "1", "mode": "write"}, TTL: lease},
			},
			Call: Answers(renew(
				rlock.Renewal{Key: "{g}alive", Owner: a, Lease: long},
				rlock.Renewal{Key: "{g}taken", Owner: a, Lease: long},
				rlock.Renewal{Key: "{g}changed", Owner: a, Lease: long},
				rlock.Renewal{Key: "{g}list", Owner: a, Lease: long},
				rlock.Renewal{Key: "{g}gone", Owner: a, Lease: long},
				rlock.Renewal{Key: "{g}checked", Owner: a},
				rlock.Renewal{Key: "{g}last", Owner: b + ":write", Lease: long},
			), []bool{true, false, false, false, false, true, true}).Lengthens(),
			After: State{
				"{g}alive":   {Value: Hash{a: "1"}, TTL: long},
				"{g}taken":   {Value: Hash{b: "1"}, TTL: lease},
				"{g}changed": {Value: "7", TTL: lease},
				"{g}list":    {Value: List{"x"}},
				"{g}checked": {Value: Hash{a: "1"}, TTL: lease},
				"{g}last":    {Value: Hash{b + ":write": "1", "mode": "write"}, TTL: long},
			}},
	})
}

func TestRenewOfAHundredNamesIsOneScript(t *testing.T) {
	before, after := State{}, State{}
	var names []rlock.Renewal
	var want []bool
	for i := range 100 {
		name := "{g}" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		names = append(names, rlock.Renewal{Key: name, Owner: a, Lease: long})
		want = append(want, i%3 != 0)
		owner, ttl := a, long
		if i%3 == 0 {
			owner, ttl = b, lease
		}
		before[name] = Key{Value: Hash{owner: "1"}, TTL: lease}
		after[name] = Key{Value: Hash{owner: "1"}, TTL: ttl}
	}
	Table(t, []Row{{Name: "one in three is lost", Before: before, Call: Answers(Alive(rlock.Renew(names)), want).Lengthens(), After: after}})
}

func TestForce(t *testing.T) {
	Table(t, []Row{
		{Name: "Whoever holds it loses it, and the waiters are woken",
			Before: held(lease, Hash{a: "3"}), Call: AnswersThen(rlock.Force(key, wake), true, false), After: free, Messages: woken},
		{Name: "A spin lock is deleted without a message",
			Before: held(0, Hash{a: "1"}), Call: AnswersThen(rlock.Force(key, silent), true, false), After: free},
		{Name: "A free lock wakes nobody",
			Before: free, Call: Answers(rlock.Force(key, wake), false)},
		{Name: "A key that is no lock is not deleted",
			Before: other, Call: Fails(rlock.Force(key, wake), "WRONGTYPE")},
	})
}

func TestQueries(t *testing.T) {
	Table(t, []Row{
		{Name: "Inspect tells all fields",
			Before: held(lease, Hash{a: "2", "mode": "read"}),
			Call:   Answers(rlock.Inspect(key), scripts.State{Exists: true, TTL: lease, Fields: map[string]string{a: "2", "mode": "read"}})},
		{Name: "Inspect tells that there is no TTL",
			Before: held(0, Hash{a: "1"}),
			Call:   Answers(rlock.Inspect(key), scripts.State{Exists: true, TTL: forever, Fields: map[string]string{a: "1"}})},
		{Name: "Inspect of a free lock",
			Before: free, Call: Answers(rlock.Inspect(key), scripts.State{Fields: map[string]string{}})},
		{Name: "Inspect of a key that is no lock",
			Before: other, Call: Fails(rlock.Inspect(key), "WRONGTYPE")},
		{Name: "Status tells the owner's holds",
			Before: held(lease, Hash{a: "2", b: "1"}),
			Call:   Answers(rlock.Status(key, a), scripts.Status{Exists: true, TTL: lease, Holds: 2})},
		{Name: "Status of a stranger",
			Before: held(0, Hash{a: "2"}),
			Call:   Answers(rlock.Status(key, b), scripts.Status{Exists: true, TTL: forever})},
		{Name: "Status of a free lock",
			Before: free, Call: Answers(rlock.Status(key, a), scripts.Status{})},
		{Name: "Status of a key that is no lock",
			Before: other, Call: Fails(rlock.Status(key, a), "WRONGTYPE")},
	})
}

// The golden states of the plain lock, as Redisson leaves them in its own locks. Redisson's unlock latch is private to
// its caller and has no counterpart here.
func TestGoldenStates(t *testing.T) {
	require.Equal(t, channel, keys.LockChannel(key))
	mine := scripts.Attempt{Held: true}
	Sequence(t, []Row{
		{Name: "taken", Before: free, Call: Answers(rlock.Acquire(key, a, lease), mine), After: held(lease, Hash{a: "1"})},
		{Name: "taken twice", Call: Answers(rlock.Recount(key, a, 2, lease), true), After: held(lease, Hash{a: "2"})},
		{Name: "contended", Call: Answers(rlock.Acquire(key, b, lease), scripts.Attempt{Remaining: lease})},
		{Name: "first unlock", Call: Answers(rlock.Recount(key, a, 1, lease), true), After: held(lease, Hash{a: "1"})},
		{Name: "second unlock", Call: AnswersThen(rlock.Release(key, a, wake), true, false), After: free, Messages: woken},
		{Name: "third unlock", Call: Answers(rlock.Release(key, a, wake), false)},
	})
}
