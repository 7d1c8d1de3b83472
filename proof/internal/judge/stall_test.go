package judge_test

import (
	"testing"

	"github.com/redlatch/redlatch/proof/internal/history"
)

func TestAWaiterThatSleepsWhileTheLockIsFree(t *testing.T) {
	lock := history.Record{Bound: 3 * second}
	held := act{client: "a", called: second, leave: 2 * second, lease: 30 * second}
	waits := func(client string, until history.Time) act {
		return act{client: client, called: second + quick, back: until, leave: until + second}
	}
	try(t, []trial{
		{"it is granted within the bound", tell(lock, does(held, waits("b", 5*second))), ""},
		{"it is granted after the bound", tell(lock, does(held, waits("b", 6*second))), "stall"},
		{"the server may have lost that it was given back", tell(lock, does(held, waits("b", 6*second)), loses(second, 3*second)), ""},
		{"it was taken away before, which frees it", tell(lock, does(held, waits("b", 6*second)), outside(second)), "stall"},
		{"it never returns", tell(lock, does(held, act{client: "b", called: 3 * second, back: never}), event(history.Resume, "c", 20*second)), "stall"},
		{"it gives up after the bound", tell(lock, does(held, act{client: "b", called: second, back: 6 * second, outcome: history.Refused})), "stall"},
		{"it gives up within the bound", tell(lock, does(held, act{client: "b", called: second, back: 4 * second, outcome: history.Refused})), ""},
		{"it was suspended", tell(lock, does(held, waits("b", 6*second)),
			event(history.Suspend, "b", 3*second), event(history.Resume, "b", 4*second)), ""},
		{"it was suspended, and gave up", tell(lock, does(held, act{client: "b", called: second, back: 9 * second, outcome: history.Refused}),
			event(history.Suspend, "b", 3*second), event(history.Resume, "b", 8*second)), ""},
		{"others have it meanwhile", tell(lock, does(held, waits("c", 4*second), waits("b", 7*second))), ""},
		{"others have it meanwhile, for too short a time", tell(lock, does(held, waits("c", 3*second), waits("b", 8*second))), "stall"},
		{"the holder was killed, and its lease is over", tell(lock, does(
			act{client: "a", called: second, lease: 30 * second}, waits("b", 35*second)), event(history.Kill, "a", 2*second)), ""},
		{"the holder was killed, and its lease is over for long", tell(lock, does(
			act{client: "a", called: second, lease: 30 * second}, waits("b", 36*second)), event(history.Kill, "a", 2*second)), "stall"},
		{"somebody may have got it without knowing", tell(lock, does(held,
			act{client: "c", called: 2 * second, outcome: history.Doubt}, waits("b", 50*second))), ""},
		{"nobody can have got it any longer", tell(lock, does(held,
			act{client: "c", called: 2 * second, outcome: history.Doubt}, waits("b", 66*second))), "stall"},
		{"the first one has left a re-entry in the server, and renewed it", tell(lock, does(
			act{client: "a", called: second, leave: 20 * second, lease: 10 * second},
			act{client: "a", called: 2 * second, told: 3 * second, lease: 10 * second, within: 1}, waits("b", 32*second))), ""},
		{"the lease of the re-entry that was left is over", tell(lock, does(
			act{client: "a", called: second, leave: 20 * second, lease: 10 * second},
			act{client: "a", called: 2 * second, told: 3 * second, lease: 10 * second, within: 1}, waits("b", 35*second))), "stall"},
		{"one that was killed may have got it without knowing", tell(lock, does(
			act{client: "c", called: 2 * second, back: 3 * second, outcome: history.Refused, try: true, lease: 30 * second}, act{client: "b", called: 3 * second, back: 36 * second, leave: 37 * second}),
			event(history.Kill, "c", 4*second)), ""},
		{"one that was killed may have had it without knowing", tell(lock, does(
			act{client: "c", called: 2 * second, back: 3 * second, outcome: history.Refused, try: true, lease: 30 * second}, act{client: "b", called: 3 * second, back: 38 * second, leave: 39 * second}),
			event(history.Kill, "c", 4*second)), "stall"},
		{"a request that came late has a place in the queue for its patience", tell(lock, does(held,
			act{client: "ghost", called: 2 * second, back: never, lease: 41 * second}, waits("b", 46*second)), event(history.Kill, "ghost", 2*second)), ""},
		{"a request that came late has no longer patience than that", tell(lock, does(held,
			act{client: "ghost", called: 2 * second, back: never, lease: 41 * second}, waits("b", 47*second)), event(history.Kill, "ghost", 2*second)), "stall"},
		{"a try does not wait", tell(lock, does(held, act{client: "b", called: 3 * second, back: 9 * second, try: true, outcome: history.Failed})), ""},
	})
}

// What was sent before a client was killed, and is executed afterwards, or so late that the client does not
// live to settle it, may bring its locks back for their leases, counted from then on. That excuses the
// waiters of that time, and no others.
func TestAWaiterBehindARequestThatOutlivedItsClient(t *testing.T) {
	lock, pool := history.Record{Bound: 3 * second}, history.Record{N: 1, Bound: 3 * second}
	over := act{client: "a", called: second, leave: 2 * second, lease: 10 * second}
	open := act{client: "a", called: second, back: never, lease: 10 * second}
	held := act{client: "a", called: second, lease: 10 * second}
	refused := act{client: "a", called: second, outcome: history.Refused, lease: 10 * second}
	sent, kill := second+quick/2, event(history.Kill, "a", 3*second)
	waits := func(from, until history.Time) act {
		return act{client: "b", called: from, back: until, leave: until + second}
	}
	permits := func(a act) act {
		a.mode, a.n = history.Permits, 1
		return a
	}
	try(t, []trial{
		{"a copy of what was given back", tell(lock, does(over, waits(7*second, 19*second)), kill, late("a", sent, 6*second)), ""},
		{"its lease is over", tell(lock, does(over, waits(7*second, 20*second)), kill, late("a", sent, 6*second)), "stall"},
		{"there was none", tell(lock, does(over, waits(7*second, 19*second)), kill), "stall"},
		{"it has not come yet", tell(lock, does(over, waits(4*second, 8*second)), kill, late("a", sent, 8*second)), "stall"},
		{"it was sent when the call had returned", tell(lock, does(over, waits(7*second, 19*second)), kill, late("a", 2*second, 6*second)), "stall"},
		{"it was sent before the call", tell(lock, does(over, waits(7*second, 19*second)), kill, late("a", second/2, 6*second)), "stall"},
		{"it is another client's", tell(lock, does(over, waits(7*second, 19*second)), kill, event(history.Kill, "c", 3*second), late("c", sent, 6*second)), "stall"},
		{"its client was killed before it could settle that", tell(lock, does(over, waits(70*second, 82*second)), late("a", sent, 69*second),
			event(history.Kill, "a", 71*second)), ""},
		{"its client lived for long enough to settle that", tell(lock, does(over, waits(70*second, 74*second)), late("a", sent, 69*second),
			event(history.Kill, "a", 130*second)), "stall"},
		{"its client lives", tell(lock, does(over, waits(70*second, 74*second)), late("a", sent, 69*second)), "stall"},
		{"a call that was killed", tell(lock, does(open, waits(14*second, 25*second)), kill, late("a", sent, 12*second)), ""},
		{"a call that was killed, and the lease is over", tell(lock, does(open, waits(14*second, 26*second)), kill, late("a", sent, 12*second)), "stall"},
		{"a call that was killed, and there was none", tell(lock, does(open, waits(14*second, 25*second)), kill), "stall"},
		{"a renewal of what was not given back", tell(lock, does(held, waits(14*second, 25*second)), kill, late("a", 2*second, 12*second)), ""},
		{"a call that was refused", tell(lock, does(refused, waits(7*second, 19*second)), kill, late("a", sent, 6*second)), ""},
		{"what was sent after a call that was refused", tell(lock, does(refused, waits(17*second, 21*second)), kill, late("a", 2*second, 16*second)), "stall"},
		{"permits of a call that was killed", tell(pool, does(permits(open), permits(waits(14*second, 25*second))), kill, late("a", sent, 12*second)), ""},
		{"permits of a call that was killed, and the lease is over", tell(pool, does(permits(open), permits(waits(14*second, 26*second))), kill,
			late("a", sent, 12*second)), "stall"},
		{"permits that were given back: a copy takes none", tell(pool, does(permits(over), permits(waits(7*second, 19*second))), kill,
			late("a", sent, 6*second)), "stall"},
	})
}

func TestAReaderOrWriterThatSleeps(t *testing.T) {
	lock := history.Record{Bound: 3 * second}
	reads := func(client string, from, back, leave history.Time) act {
		return act{client: client, mode: history.Shared, called: from, back: back, leave: leave}
	}
	writer := act{client: "a", called: second, leave: 2 * second}
	follower := reads("a", second+quick, 2*second+quick, 20*second)
	late := reads("b", 3*second, 21*second, 22*second)
	cut, healed := event(history.Suspend, "a", 4*second), event(history.Resume, "a", 5*second)
	try(t, []trial{
		{"a reader behind one that followed a writer of its client, whose client could not act", tell(lock, does(writer, follower, late), cut, healed), "stall"},
		{"a reader beside a reader", tell(lock, does(reads("a", second, 0, 20*second), reads("b", 2*second, 8*second, 9*second))), "stall"},
		{"a reader behind a writer that waits", tell(lock, does(
			reads("a", second, 0, 20*second), act{client: "w", called: 2 * second, back: 20*second + quick, leave: 21 * second},
			reads("b", 3*second, 22*second, 23*second))), ""},
		{"a reader behind a writer that gave up", tell(lock, does(
			reads("a", second, 0, 5*second), act{client: "w", called: 2 * second, back: 4 * second, outcome: history.Refused},
			reads("b", 3*second, 9*second, 10*second))), "stall"},
		{"a reader has left what another of its client shared, and renewed", tell(lock, does(reads("a", second, 0, 20*second),
			act{client: "a", mode: history.Shared, called: 2 * second, told: 3 * second, lease: 10 * second},
			act{client: "w", called: 4 * second, back: 32 * second, leave: 33 * second})), ""},
		{"the lease of what the reader has left is over", tell(lock, does(reads("a", second, 0, 20*second),
			act{client: "a", mode: history.Shared, called: 2 * second, told: 3 * second, lease: 10 * second},
			act{client: "w", called: 4 * second, back: 35 * second, leave: 36 * second})), "stall"},
		{"another client has not renewed what a reader left", tell(lock, does(reads("b", second, 0, 20*second),
			act{client: "a", mode: history.Shared, called: 2 * second, told: 3 * second, lease: 10 * second},
			act{client: "w", called: 4 * second, back: 32 * second, leave: 33 * second})), "stall"},
		{"a reader behind a writer that gave up and could not say so", tell(lock, does(
			reads("a", second, 0, 5*second), act{client: "w", called: 2 * second, back: 4 * second, outcome: history.Refused},
			reads("b", 3*second, 12*second, 13*second)), event(history.Suspend, "w", 3*second), event(history.Resume, "w", 20*second)), ""},
		{"a reader that waits for longer than one that has not said so can keep it out", tell(lock, does(
			reads("a", second, 0, 5*second), act{client: "w", called: 2 * second, back: 4 * second, outcome: history.Refused},
			reads("b", 3*second, 14*second, 15*second)), event(history.Suspend, "w", 3*second), event(history.Resume, "w", 20*second)), "stall"},
		{"a reader behind a writer that was killed", tell(lock, does(
			reads("a", second, 0, 4*second), act{client: "w", called: 2 * second, back: never},
			reads("b", 3*second, 12*second, 13*second)), event(history.Kill, "w", 4*second)), ""},
		{"a reader that waits for longer than a writer that was killed can keep it out", tell(lock, does(
			reads("a", second, 0, 4*second), act{client: "w", called: 2 * second, back: never, lease: 2 * second},
			reads("b", 3*second, 14*second, 15*second)), event(history.Kill, "w", 4*second)), "stall"},
		{"a writer behind readers", tell(lock, does(
			reads("a", second, 0, 6*second), reads("b", 5*second, 0, 10*second), act{client: "w", called: 2 * second, back: 11 * second, leave: 12 * second})), ""},
		{"a writer behind a short reader within a long one", tell(lock, does(
			reads("a", second, 0, 20*second), reads("b", 2*second, 0, 3*second), act{client: "w", called: 2 * second, back: 21 * second, leave: 22 * second})), ""},
		{"a writer after the last reader", tell(lock, does(
			reads("a", second, 0, 6*second), act{client: "w", called: 2 * second, back: 11 * second, leave: 12 * second})), "stall"},
	})
}

func TestASeekerOfPermitsThatSleeps(t *testing.T) {
	pool := history.Record{N: 3, Bound: 3 * second}
	use := func(client string, from, back, leave history.Time, n int64) act {
		return act{client: client, mode: history.Permits, called: from, back: back, leave: leave, n: n}
	}
	try(t, []trial{
		{"there are enough all the time", tell(pool, does(use("a", second, 0, 20*second, 1), use("b", 2*second, 9*second, 10*second, 2))), "stall"},
		{"there are too few", tell(pool, does(use("a", second, 0, 20*second, 2), use("b", 2*second, 21*second, 22*second, 2))), ""},
		{"there are enough after the first is given back", tell(pool, does(
			use("a", second, 0, 4*second, 2), use("c", second, 0, 20*second, 1), use("b", 2*second, 10*second, 22*second, 2))), "stall"},
		{"an earlier one of the same client waits for more", tell(pool, does(
			use("a", second, 0, 20*second, 1), use("b", 2*second, 21*second, 22*second, 3), use("b", 3*second, 21*second+quick, 23*second, 2))), ""},
		{"a later one of the same client waits for more", tell(pool, does(
			use("a", second, 0, 20*second, 1), use("b", 2*second, 21*second, 22*second, 2), use("b", 3*second, 22*second+quick, 23*second, 3))), "stall"},
		{"one of the same client that called a moment later waits for more", tell(pool, does(
			use("a", second, 0, 20*second, 1), use("b", 2*second, 21*second, 22*second, 2), use("b", 2*second+10*quick, 22*second+quick, 23*second, 3))), ""},
		{"its client is suspended while it gives back", tell(pool, does(
			act{mode: history.Permits, called: second, leave: 2 * second, unsure: true, told: 2*second + quick, n: 3}, use("b", 2*second, 70*second, 71*second, 2)),
			event(history.Suspend, "a", 2*second), event(history.Resume, "a", 15*second)), ""},
		{"its client was suspended while it gave back, long ago", tell(pool, does(
			act{mode: history.Permits, called: second, leave: 2 * second, unsure: true, told: 2*second + quick, n: 3}, use("b", 2*second, 80*second, 81*second, 2)),
			event(history.Suspend, "a", 2*second), event(history.Resume, "a", 15*second)), "stall"},
		{"there are enough since some were added", tell(pool, does(use("a", second, 0, 20*second, 2),
			act{mode: history.Add, called: 3 * second, n: 1}, use("b", 2*second, 9*second, 10*second, 2))), "stall"},
		{"some were perhaps added", tell(pool, does(use("a", second, 0, 20*second, 2),
			act{mode: history.Add, called: 3 * second, n: 1, outcome: history.Doubt}, use("b", 2*second, 21*second, 22*second, 2))), ""},
		{"some were added at the end", tell(pool, does(use("a", second, 0, 20*second, 2),
			act{mode: history.Add, called: 8 * second, n: 1}, use("b", 2*second, 9*second, 10*second, 2))), ""},
		{"too many were taken away", tell(pool, does(use("a", second, 0, 20*second, 1),
			act{mode: history.Add, called: second, n: -1}, use("b", 2*second, 21*second, 22*second, 2))), ""},
		{"enough are left although some were taken away", tell(pool, does(use("a", second, 0, 20*second, 1),
			act{mode: history.Add, called: second, n: -1}, use("b", 2*second, 9*second, 22*second, 1))), "stall"},
		{"there are too few after the first is given back", tell(pool, does(
			use("a", second, 0, 4*second, 1), use("c", second, 0, 20*second, 2), use("b", 2*second, 21*second, 22*second, 2))), ""},
	})
}

func TestAWaitForAnOpenLatch(t *testing.T) {
	latch := history.Record{N: 2, Bound: 3 * second}
	down := func(at history.Time) act { return act{mode: history.CountDown, called: at} }
	wait := func(to history.Time) act { return act{client: "w", mode: history.Await, called: second, back: to} }
	try(t, []trial{
		{"it is told within the bound", tell(latch, does(down(second), down(4*second), wait(7*second))), ""},
		{"it is told after the bound", tell(latch, does(down(second), down(4*second), wait(8*second))), "stall"},
		{"it is closed for long", tell(latch, does(down(second), down(50*second), wait(51*second))), ""},
		{"it sleeps on", tell(latch, does(down(second), down(4*second), act{client: "w", mode: history.Await, called: second, back: never}),
			event(history.Resume, "c", 20*second)), "stall"},
	})
}
