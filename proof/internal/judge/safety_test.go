package judge_test

import (
	"testing"

	"github.com/redlatch/redlatch/proof/internal/history"
)

func TestTwoHoldersAtOnce(t *testing.T) {
	lock := history.Record{}
	try(t, []trial{
		{"one nanosecond of overlap", tell(lock, does(
			act{client: "a", called: 1 * second, valid: 2*second + quick + 1, leave: 2*second + quick + 1},
			act{client: "b", called: 2 * second, valid: 3 * second, leave: 3 * second},
		)), "exclusion"},
		{"the second begins when the first ends", tell(lock, does(
			act{client: "a", called: 1 * second, valid: 2*second + quick, leave: 2*second + quick},
			act{client: "b", called: 2 * second, valid: 3 * second, leave: 3 * second},
		)), ""},
		{"a reader beside a writer", tell(lock, does(
			act{client: "a", mode: history.Shared, called: 1 * second, valid: 3 * second, leave: 3 * second},
			act{client: "b", called: 2 * second, valid: 3 * second, leave: 3 * second},
		)), "exclusion, late loss"},
		{"two readers", tell(lock, does(
			act{client: "a", mode: history.Shared, called: 1 * second, valid: 3 * second, leave: 3 * second},
			act{client: "b", mode: history.Shared, called: 2 * second, valid: 3 * second, leave: 3 * second},
		)), ""},
		{"two goroutines of one client", tell(lock, does(
			act{called: 1 * second, valid: 3 * second, leave: 3 * second},
			act{called: 2 * second, valid: 3 * second, leave: 3 * second},
		)), "exclusion, late loss"},
		{"a re-entry", tell(lock, does(
			act{called: 1 * second, valid: 3 * second, leave: 3 * second},
			act{called: 2 * second, valid: 3 * second, leave: 3 * second, within: 1},
		)), ""},
		{"the first was suspended and claims nothing after", tell(lock, does(
			act{client: "a", called: 1 * second, valid: 2 * second, told: 50 * second},
			act{client: "b", called: 31 * second, valid: 40 * second, leave: 40 * second},
		), event(history.Suspend, "a", 3*second), event(history.Resume, "a", 49*second)), ""},
		{"the first was suspended and claims it after all", tell(lock, does(
			act{client: "a", called: 1 * second, valid: 49 * second, told: 50 * second},
			act{client: "b", called: 31 * second, valid: 40 * second, leave: 40 * second},
		), event(history.Suspend, "a", 3*second), event(history.Resume, "a", 49*second)), "exclusion"},
		{"the lock was taken away, within the window", tell(lock, does(
			act{client: "a", called: 1 * second, valid: 6 * second, told: 7 * second},
			act{client: "b", called: 3 * second, valid: 9 * second, leave: 9 * second},
		), outside(2*second)), ""},
		{"the lock was taken away, and believed after the window", tell(lock, does(
			act{client: "a", called: 1 * second, valid: 8 * second, told: 8 * second},
			act{client: "b", called: 3 * second, valid: 9 * second, leave: 9 * second},
		), outside(2*second)), "exclusion, late loss"},
		{"its client could not act at the end of the window, so its renewal failed", tell(lock, does(
			act{valid: 9 * second, told: 9 * second},
			act{client: "b", called: 3 * second, valid: 20 * second, leave: 20 * second},
		), outside(2*second), event(history.Suspend, "a", 6*second), event(history.Resume, "a", 7*second)), ""},
		{"its client could act again for longer than a renewal takes to be repeated", tell(lock, does(
			act{valid: 10 * second, told: 10 * second},
			act{client: "b", called: 3 * second, valid: 20 * second, leave: 20 * second},
		), outside(2*second), event(history.Suspend, "a", 6*second), event(history.Resume, "a", 7*second)), "exclusion, late loss"},
		{"the lock was taken away before its holder knew that it had it", tell(lock, does(
			act{client: "a", called: 3 * second, valid: 9 * second, leave: 9 * second},
			act{client: "b", called: 1 * second, back: 5 * second, valid: 6 * second, leave: 6 * second},
		), outside(2*second), event(history.Suspend, "b", 2*second), event(history.Resume, "b", 5*second)), ""},
		{"the lock was taken away while the reply to the first was under way", tell(lock, does(
			act{client: "a", called: 1 * second, back: 2*second + quick, valid: 6 * second, told: 7 * second},
			act{client: "b", called: 3 * second, valid: 9 * second, leave: 9 * second},
		), outside(2*second)), ""},
		{"the lock was taken away by a call that began before the first and ended after the second", tell(lock, does(
			act{client: "a", called: 2 * second, valid: 6 * second, leave: 6 * second},
			act{client: "b", called: 3 * second, valid: 5 * second, leave: 5 * second},
		), outsideIn(second, 4*second)), ""},
		{"the call that takes away has ended before the first is granted", tell(lock, does(
			act{client: "a", called: 2 * second, valid: 6 * second, leave: 6 * second},
			act{client: "b", called: 3 * second, valid: 5 * second, leave: 5 * second},
		), outsideIn(second/2, second)), "exclusion, late loss"},
		{"the call that takes away begins after the second is granted", tell(lock, does(
			act{client: "a", called: 2 * second, valid: 6 * second, leave: 6 * second},
			act{client: "b", called: 3 * second, valid: 5 * second, leave: 5 * second},
		), outsideIn(4*second, 5*second)), "exclusion, late loss"},
		{"the lock was taken away while the first still waited", tell(lock, does(
			act{client: "a", called: 1 * second, back: 3 * second, valid: 6 * second, told: 6 * second},
			act{client: "b", called: 4 * second, valid: 5 * second, leave: 5 * second},
		), outside(2*second)), "exclusion, late loss"},
		{"the lock was taken away while the second still waited", tell(lock, does(
			act{client: "a", called: 3 * second, valid: 6 * second, leave: 6 * second},
			act{client: "b", called: 1 * second, back: 5 * second, valid: 6 * second, leave: 6 * second},
		), outside(2*second)), "exclusion, late loss"},
		{"what was taken away excuses nobody who came later", tell(lock, does(
			act{client: "a", called: 3 * second, valid: 6 * second, leave: 6 * second},
			act{client: "b", called: 4 * second, valid: 5 * second, leave: 5 * second},
		), outside(2*second)), "exclusion, late loss"},
	})
}

func TestMorePermitsThanThereAre(t *testing.T) {
	pool := history.Record{N: 3}
	use := func(client string, from, to history.Time, n int64) act {
		return act{client: client, mode: history.Permits, called: from, valid: to, leave: to, n: n}
	}
	try(t, []trial{
		{"all that there are", tell(pool, does(use("a", second, 4*second, 2), use("b", 2*second, 3*second, 1))), ""},
		{"one more, after the server has lost something", tell(pool, does(use("a", second, 4*second, 2), use("b", 2*second, 3*second, 2)),
			loses(second, 2*second)), ""},
		{"one more", tell(pool, does(use("a", second, 4*second, 2), use("b", 2*second, 3*second, 2))), "permits"},
		{"one after the other", tell(pool, does(use("a", second, 2*second+quick, 3), use("b", 2*second, 3*second, 3))), ""},
		{"one a nanosecond too early", tell(pool, does(use("a", second, 2*second+quick+1, 3), use("b", 2*second, 3*second, 1))), "permits"},
		{"some were added", tell(pool, does(
			use("a", second, 4*second, 3), act{mode: history.Add, called: 2 * second, n: 1}, use("b", 3*second, 4*second, 1))), ""},
		{"some were taken away while in use", tell(pool, does(
			use("a", second, 4*second, 3), act{mode: history.Add, called: 2 * second, n: -1}, use("b", 5*second, 6*second, 2))), ""},
		{"one more is granted while in debt", tell(pool, does(
			use("a", second, 9*second, 3), act{mode: history.Add, called: 2 * second, n: -1}, use("b", 5*second, 6*second, 1))), "permits"},
		{"more than there ever were, to a process that may not know of the removal yet", tell(pool, does(use("a", second, 9*second, 3),
			act{mode: history.Add, called: 2 * second, n: -1}, use("b", 2*second+quick+terms.Slack-1, 6*second, 1))), "permits"},
		{"as many as before, to a process that may not know of the removal yet", tell(pool, does(
			act{mode: history.Add, called: 2 * second, n: -1}, use("b", 2*second+quick+terms.Slack-1, 6*second, 3))), ""},
		{"as many as before, to a process that has to know of the removal", tell(pool, does(
			act{mode: history.Add, called: 2 * second, n: -1}, use("b", 2*second+quick+terms.Slack, 6*second, 3))), "permits"},
		{"some were taken away while it was granted", tell(pool, does(
			act{mode: history.Permits, called: second, back: 3 * second, valid: 4 * second, leave: 4 * second, n: 3},
			act{client: "b", mode: history.Add, called: 2 * second, n: -1})), ""},
		{"more than are left after some were taken away", tell(pool, does(
			act{mode: history.Add, called: second, n: -1}, use("b", 5*second, 6*second, 3))), "permits"},
	})
}

func TestAnIdOfTwoHolds(t *testing.T) {
	pool := history.Record{N: 2}
	permit := func(called history.Time, ids ...string) act {
		return act{mode: history.Permits, n: 1, called: called, valid: called + second, leave: called + second, ids: ids}
	}
	try(t, []trial{
		{"the second has what the first was told", tell(pool, does(permit(1*second, "x"), permit(3*second, "x"))), "ids"},
		{"each has its own", tell(pool, does(permit(1*second, "x", "y"), permit(3*second, "z"))), ""},
		{"it was told twice", tell(pool, does(permit(1*second, "x", "x"), permit(3*second))), ""},
	})
}

func TestTokensThatDoNotGrow(t *testing.T) {
	lock := history.Record{}
	take := func(from history.Time, token int64) act {
		return act{called: from, leave: from + 2*quick, token: token}
	}
	before := act{client: "a", called: second, token: 5, told: 5 * second}
	rival := act{client: "b", called: 4*second + quick, leave: 4*second + 2*quick, token: 7}
	heir := func(at history.Time) act {
		return act{client: "a", called: 4*second + 3*quick, back: at, token: 6, told: 5 * second}
	}
	try(t, []trial{
		{"they grow", tell(lock, does(take(second, 1), take(2*second, 2), take(3*second, 5))), ""},
		{"the same again", tell(lock, does(take(second, 1), take(2*second, 1))), "tokens"},
		{"a smaller one", tell(lock, does(take(second, 7), take(2*second, 6))), "tokens"},
		{"calls at one time may return in any order", tell(lock, does(
			act{client: "a", called: second, back: 3 * second, token: 1},
			act{client: "b", called: second, back: 2 * second, token: 2, leave: 2 * second})), ""},
		{"a re-entry has the next one", tell(lock, does(act{called: second, leave: 5 * second, token: 7},
			act{called: 2 * second, leave: 3 * second, token: 8, within: 1}, take(6*second, 9))), ""},
		{"a re-entry has that of its hold", tell(lock, does(act{called: second, leave: 5 * second, token: 7},
			act{called: 2 * second, leave: 3 * second, token: 7, within: 1})), "tokens"},
		{"the next hold has that of a re-entry", tell(lock, does(act{called: second, leave: 5 * second, token: 7},
			act{called: 2 * second, leave: 3 * second, token: 8, within: 1}, take(6*second, 8))), "tokens"},
		{"the newest one is lost with its server", tell(lock, does(take(second, 7), take(4*second, 7)), loses(2*second, 3*second)), ""},
		{"a smaller one, and the server was lost before", tell(lock, does(take(4*second, 7), take(5*second, 7)), loses(2*second, 3*second)), "tokens"},
		{"a smaller one, and the lock was only taken away", tell(lock, does(take(second, 7), take(4*second, 7)), outside(2*second)), "tokens"},
		{"a smaller one, handed on after the lock was taken away", tell(lock, does(before, rival, heir(4*second+terms.HandOn)), outside(4*second)), ""},
		{"a smaller one, handed on too long after the lock was taken away", tell(lock, does(before, rival, heir(4*second+terms.HandOn+1)), outside(4*second)), "tokens"},
		{"a smaller one, handed on by nobody", tell(lock, does(rival, heir(4*second+4*quick)), outside(4*second)), "tokens"},
		{"a smaller one, and the lock was taken away after the greater one was there", tell(lock, does(before, rival, heir(4*second+4*quick)),
			outside(4*second+3*quick)), "tokens, late loss"},
		{"one token for two calls at one time", tell(lock, does(
			act{client: "a", called: second, back: 3 * second, token: 2},
			act{client: "b", called: second, back: 2 * second, token: 2, leave: 2 * second})), "tokens"},
	})
}

func TestAGuardThatAcceptsAStaleWrite(t *testing.T) {
	store := history.Record{}
	write := func(from history.Time, token int64, outcome history.What) act {
		return act{mode: history.Write, called: from, token: token, outcome: outcome}
	}
	try(t, []trial{
		{"in their order, some more than once", tell(store, does(write(second, 1, ""), write(2*second, 1, ""), write(3*second, 4, ""))), ""},
		{"an old one is accepted", tell(store, does(write(second, 4, ""), write(2*second, 3, ""))), "stale write"},
		{"an old one is accepted long after", tell(store, does(write(second, 4, ""), write(2*second, 5, ""), write(9*second, 4, ""))), "stale write"},
		{"an old one is refused", tell(store, does(write(second, 4, ""), write(2*second, 3, history.Refused))), ""},
		{"two at one time", tell(store, does(
			act{client: "a", mode: history.Write, called: second, back: 3 * second, token: 4},
			act{client: "b", mode: history.Write, called: 2 * second, back: 4 * second, token: 3})), ""},
		{"one is refused before there was a greater one", tell(store, does(write(second, 3, history.Refused), write(2*second, 4, ""))), "stale write"},
		{"one is refused while a greater one is under way", tell(store, does(
			act{client: "a", mode: history.Write, called: second, back: 3 * second, token: 3, outcome: history.Refused},
			act{client: "b", mode: history.Write, called: 2 * second, back: 4 * second, token: 4})), ""},
		{"one is refused for a greater one of which nobody knows", tell(store, does(write(second, 4, history.Doubt), write(2*second, 3, history.Refused))), ""},
		{"one is refused for its equal", tell(store, does(write(second, 3, ""), write(2*second, 3, history.Refused))), "stale write"},
	})
}

func TestWhatIsWrittenThroughAGuard(t *testing.T) {
	store := history.Record{}
	write := func(from history.Time, token int64, outcome history.What) act {
		return act{mode: history.Write, called: from, token: token, outcome: outcome, n: 1}
	}
	claim := act{mode: history.Write, called: 2 * second, token: 3}
	unknown := write(second, 3, history.Doubt)
	long := act{mode: history.Write, called: second, back: 3 * second, token: 3, n: 1}
	try(t, []trial{
		{"each once, in their order", tell(store, does(write(second, 3, ""), claim, write(3*second, 4, "")), stands(1, 3)), ""},
		{"one is missing", tell(store, does(write(second, 3, ""), write(3*second, 4, "")), stands(2)), "data"},
		{"one stands there twice", tell(store, does(write(second, 3, "")), stands(1, 1)), "data"},
		{"a refused one stands there", tell(store, does(write(second, 5, ""), write(2*second, 4, history.Refused)), stands(2, 1)), "data"},
		{"one of which nobody knows stands there", tell(store, does(unknown), stands(1)), ""},
		{"one of which nobody knows does not", tell(store, does(unknown), stands()), ""},
		{"one of which nobody knows stands there twice", tell(store, does(unknown), stands(1, 1)), "data"},
		{"a smaller token stands behind a greater one", tell(store, does(long, write(2*second, 4, "")), stands(2, 1)), "data"},
		{"of two at one time either is first", tell(store, does(long, write(2*second, 3, "")), stands(2, 1)), ""},
		{"the later stands before the earlier", tell(store, does(write(second, 3, ""), write(2*second, 3, "")), stands(2, 1)), "data"},
		{"one of which nobody knew stands behind one that was begun before it was settled", tell(store, does(unknown, write(61*second, 3, "")), stands(2, 1)), ""},
		{"one of which nobody knew stands behind one that was begun after it was settled", tell(store, does(unknown, write(61*second+2*quick, 3, "")), stands(2, 1)), "data"},
		{"its client was suspended meanwhile", tell(store, does(unknown, write(61*second+2*quick, 3, "")), event(history.Suspend, "a", 20*second),
			event(history.Resume, "a", 21*second), stands(2, 1)), ""},
		{"nobody has looked", tell(store, does(write(second, 3, ""))), ""},
	})
}

func TestALatchThatOpensEarly(t *testing.T) {
	latch := history.Record{N: 2}
	down := func(at history.Time) act { return act{mode: history.CountDown, called: at} }
	wait := func(from, to history.Time) act { return act{client: "w", mode: history.Await, called: from, back: to} }
	try(t, []trial{
		{"when the last has begun to count", tell(latch, does(down(second), down(3*second), wait(2*second, 3*second))), ""},
		{"before the last has", tell(latch, does(down(second), down(3*second), wait(2*second, 3*second-1))), "early latch"},
		{"before anybody has", tell(latch, does(wait(2*second, 3*second))), "early latch"},
		{"it did not open", tell(latch, does(act{client: "w", mode: history.Await, called: second, outcome: history.Refused})), ""},
	})
}

func TestALossThatIsToldLate(t *testing.T) {
	lock := history.Record{}
	after := act{client: "b", called: 30 * second, leave: 40 * second}
	try(t, []trial{
		{"it was told before", tell(lock, does(act{called: second, told: 29 * second}, after)), ""},
		{"it was told within the slack", tell(lock, does(act{called: second, told: 30*second + 3*quick}, after)), ""},
		{"it was told after", tell(lock, does(act{called: second, told: 31 * second}, after)), "late loss"},
		{"it was never told", tell(lock, does(act{called: second}, after)), "late loss"},
		{"it was suspended then", tell(lock, does(act{called: second, told: 31 * second}, after),
			event(history.Suspend, "a", 20*second), event(history.Resume, "a", 31*second-1)), ""},
		{"it was dead by then", tell(lock, does(act{called: second}, after), event(history.Kill, "a", 20*second)), ""},
		{"it died long after", tell(lock, does(act{called: second}, after), event(history.Kill, "a", 50*second)), "late loss"},
		{"the lock was taken away, and it died within the window", tell(lock, does(act{client: "a", called: second},
			act{client: "b", called: 3 * second, leave: 20 * second}), outside(2*second), event(history.Kill, "a", 5*second)), ""},
		{"it was being given back", tell(lock, does(act{called: second, leave: 30 * second, unsure: true}, after)), ""},
	})
}

func TestAHoldThatOutlastsItsTime(t *testing.T) {
	lock, pool := history.Record{}, history.Record{N: 3}
	outer := act{client: "a", valid: 9 * second, leave: 9 * second}
	try(t, []trial{
		{"it is certain to the end", tell(lock, does(act{called: second, back: 2 * second, most: 3 * second, valid: 5 * second, leave: 6 * second})), ""},
		{"it is certain for a nanosecond more", tell(lock, does(act{called: second, back: 2 * second, most: 3 * second, valid: 5*second + 1, leave: 6 * second})), "overdue"},
		{"it has no limit", tell(lock, does(outer)), ""},
		{"it is within one without a limit", tell(lock, does(outer, act{called: second, within: 1, most: 3 * second, valid: 5 * second, leave: 6 * second})), "overdue"},
		{"it is within one without a limit, and over before that", tell(lock, does(outer, act{called: second, within: 1, most: 3 * second, valid: 4 * second, leave: 6 * second})), ""},
		{"they are permits", tell(pool, does(act{mode: history.Permits, n: 1, called: second, most: second, valid: 3 * second, leave: 4 * second})), "overdue"},
	})
}

func TestAWaiterThatIsOvertaken(t *testing.T) {
	fair := history.Record{Fair: true}
	first := act{client: "a", called: second, queued: 2 * second, back: 9 * second, leave: 10 * second}
	try(t, []trial{
		{"by one that came later", tell(fair, does(first, act{client: "b", called: 3 * second, back: 5 * second, leave: 6 * second})), "order"},
		{"by one that came before it was queued", tell(fair, does(first, act{client: "b", called: 2*second - 1, back: 5 * second, leave: 6 * second})), ""},
		{"by nobody", tell(fair, does(first, act{client: "b", called: 3 * second, back: 11 * second, leave: 12 * second})), ""},
		{"while it was suspended", tell(fair, does(first, act{client: "b", called: 3 * second, back: 5 * second, leave: 6 * second}),
			event(history.Suspend, "a", 4*second), event(history.Resume, "a", 8*second)), ""},
		{"by two", tell(fair, does(first, act{client: "b", called: 3 * second, back: 4 * second, leave: 5 * second},
			act{client: "c", called: 3 * second, back: 6 * second, leave: 7 * second})), "order"},
		{"where nothing is promised", tell(history.Record{}, does(first, act{client: "b", called: 3 * second, back: 5 * second, leave: 6 * second})), ""},
	})
}

func TestWhatIsLeftInTheEnd(t *testing.T) {
	pool, lock, latch := history.Record{N: 3}, history.Record{}, history.Record{N: 2}
	use := act{mode: history.Permits, called: second, n: 2, leave: 2 * second, lease: 30 * second}
	kept := act{mode: history.Permits, called: second, n: 2}
	down := act{mode: history.CountDown, called: second}
	try(t, []trial{
		{"all permits", tell(pool, does(use), final(3, 9*second)), ""},
		{"one is lost", tell(pool, does(use), final(2, 9*second)), "conservation"},
		{"one is invented", tell(pool, does(use), final(4, 9*second)), "conservation"},
		{"some were added", tell(pool, does(use, act{mode: history.Add, called: second, n: 2}), final(5, 9*second)), ""},
		{"some were perhaps added", tell(pool, does(use, act{mode: history.Add, called: second, n: 2, outcome: history.Doubt}), final(4, 9*second)), ""},
		{"more than were perhaps added", tell(pool, does(use, act{mode: history.Add, called: second, n: 2, outcome: history.Doubt}), final(6, 9*second)), "conservation"},
		{"without a lease they go with their client", tell(pool, does(kept), event(history.Kill, "a", 3*second), final(1, 9*second)), ""},
		{"refused, its client is killed before it can settle", tell(pool, does(
			act{mode: history.Permits, called: second, n: 2, outcome: history.Refused}), event(history.Kill, "a", 3*second), final(1, 99*second)), ""},
		{"refused, its client had the time to settle", tell(pool, does(
			act{mode: history.Permits, called: second, n: 2, outcome: history.Refused}), event(history.Kill, "a", 63*second), final(1, 99*second)), "conservation"},
		{"refused, its client was suspended, and killed before it can settle", tell(pool, does(
			act{mode: history.Permits, called: second, n: 2, outcome: history.Refused}), event(history.Suspend, "a", second),
			event(history.Resume, "a", 10*second), event(history.Kill, "a", 69*second), final(1, 99*second)), ""},
		{"refused, its client was suspended, and had the time to settle", tell(pool, does(
			act{mode: history.Permits, called: second, n: 2, outcome: history.Refused}), event(history.Suspend, "a", second),
			event(history.Resume, "a", 10*second), event(history.Kill, "a", 71*second), final(1, 99*second)), "conservation"},
		{"refused, its client lives", tell(pool, does(
			act{mode: history.Permits, called: second, n: 2, outcome: history.Refused}), final(1, 99*second)), "conservation"},
		{"refused, and invented", tell(pool, does(
			act{mode: history.Permits, called: second, n: 2, outcome: history.Refused}), event(history.Kill, "a", 3*second), final(4, 99*second)), "conservation"},
		{"a lock is free", tell(lock, does(act{called: second, leave: 2 * second}), final(0, 9*second)), ""},
		{"a lock is held by nobody", tell(lock, does(act{called: second, leave: 2 * second}), final(1, 9*second)), "conservation"},
		{"a latch is open", tell(latch, does(down, down), final(0, 9*second)), ""},
		{"a latch counted one twice", tell(latch, does(down), final(0, 9*second)), "conservation"},
		{"a latch perhaps counted", tell(latch, does(down, act{mode: history.CountDown, called: second, outcome: history.Doubt}), final(1, 9*second)), ""},
		{"a latch missed one", tell(latch, does(down, down), final(1, 9*second)), "conservation"},
	})
}
