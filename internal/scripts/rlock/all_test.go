package rlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestAcquireAll(t *testing.T) {
	const one, two, three = "{g}1", "{g}2", "{g}3"
	wants := rlock.AcquireAll([]rlock.Want{{one, a, lease}, {two, b, long}, {three, a, lease}}, nil)
	const openOne, openTwo = "{g}open1", "{g}open2"
	leaves := rlock.AcquireAll([]rlock.Want{{one, a, lease}, {two, b, long}, {three, a, lease}}, []string{openOne, openTwo, three})
	all := rlock.AttemptAll{Held: true}
	mine := func(owner string) Hash { return Hash{owner: "1"} }
	taken := State{one: {Value: mine(a), TTL: lease}, two: {Value: mine(b), TTL: long}, three: {Value: mine(a), TTL: lease}}
	Table(t, []Row{
		{Name: "Free locks are taken once, each with its lease as TTL",
			Before: free, Call: Answers(wants, all), After: taken},
		{Name: "A repetition leaves TTLs and counts alone",
			Before: State{one: {Value: Hash{a: "2"}, TTL: long}, two: {Value: mine(b), TTL: lease}, three: {Value: mine(a), TTL: long}}, Call: Answers(wants, all)},
		{Name: "A repetition takes again what is free, as it does for a lock by itself",
			Before: State{one: {Value: mine(a), TTL: lease}, three: {Value: mine(a), TTL: lease}}, Call: Answers(wants, all), After: taken},
		{Name: "If the last is another's none is taken",
			Before: State{three: {Value: mine(b), TTL: long}},
			Call:   Answers(wants, rlock.AttemptAll{Remaining: long, Busy: 2})},
		{Name: "The first that is busy is told, also if its key has no TTL",
			Before: State{two: {Value: mine(a)}, three: {Value: mine(b), TTL: long}},
			Call:   Answers(wants, rlock.AttemptAll{Remaining: forever, Busy: 1})},
		{Name: "A repetition is refused when one has gone to another, and leaves the others",
			Before: State{one: {Value: mine(a), TTL: lease}, two: {Value: mine(a), TTL: lease}},
			Call:   Answers(wants, rlock.AttemptAll{Remaining: lease, Busy: 1})},
		{Name: "A call that leaves locks to outsiders takes none while one is left to them",
			Before: State{openTwo: {Value: "4 numsub x", TTL: lease}}, Call: Answers(leaves, rlock.AttemptAll{Remaining: lease, Busy: 1, Open: true})},
		{Name: "Another takes them", Before: State{openTwo: {Value: "4 numsub x", TTL: lease}}, Call: Answers(wants, all),
			After: State{one: taken[one], two: taken[two], three: taken[three], openTwo: {Value: "4 numsub x", TTL: lease}}},
		{Name: "A lock that is held is told before one that is left to outsiders",
			Before: State{openTwo: {Value: "4 numsub x", TTL: lease}, three: {Value: mine(b), TTL: long}},
			Call:   Answers(leaves, rlock.AttemptAll{Remaining: long, Busy: 2})},
		{Name: "A repetition that holds all holds them, whatever was left to outsiders meanwhile",
			Before: State{one: taken[one], two: taken[two], three: taken[three], openTwo: {Value: "4 numsub x", TTL: lease}}, Call: Answers(leaves, all)},
		{Name: "A lock without such a key is asked for as ever", Before: State{three: {Value: mine(a), TTL: lease}}, Call: Answers(leaves, all), After: taken},
		{Name: "A key that is no lock is refused, and none is taken",
			Before: State{two: {Value: "7", TTL: lease}}, Call: Fails(wants, "WRONGTYPE")},
	})
}

func TestAFullServerTakesNoneOfSeveralLocks(t *testing.T) {
	client := redistest.Process(t, "--maxmemory-policy", "noeviction", "--maxmemory", "1").Client(t)
	_, err := Send(t.Context(), client, rlock.AcquireAll([]rlock.Want{{"{f}1", a, lease}, {"{f}2", b, lease}}, nil))
	require.ErrorContains(t, err, "OOM")
	require.Empty(t, client.Keys(t.Context(), "*").Val())
}
