package judge_test

import (
	"testing"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// A process may hand on for a moment what was taken away from it. The act from outside is at two seconds in all of these.
func TestAHoldThatWasHandedOnAfterItWasTakenAway(t *testing.T) {
	lock, taken, quick := history.Record{}, 2*second, second/1000
	before := act{client: "a", mode: history.Shared, called: second, told: 5 * second}
	joins := func(called, back history.Time) act {
		return act{client: "a", mode: history.Shared, called: called, back: back, valid: 4 * second, told: 5 * second}
	}
	soon := joins(taken+quick, taken+4*quick)
	rival := act{client: "b", called: 3 * second, valid: 4 * second, leave: 4 * second}
	with := func(change func(a *act), a act) act { change(&a); return a }
	const convicts = "exclusion, late loss"
	try(t, []trial{
		{"at the end of the time", tell(lock, does(before, joins(taken+quick, taken+terms.HandOn), rival), outside(taken)), ""},
		{"after the time", tell(lock, does(before, joins(taken+quick, taken+terms.HandOn+1), rival), outside(taken)), convicts},
		{"by a hold from after the act", tell(lock, does(with(func(a *act) { a.called, a.back = taken+1, taken+1 }, before), soon, rival), outside(taken)), convicts},
		{"by nobody", tell(lock, does(soon, rival), outside(taken)), convicts},
		{"by another client", tell(lock, does(with(func(a *act) { a.client = "c" }, before), soon, rival), outside(taken)), convicts},
		{"by a hold that was over at the call", tell(lock, does(with(func(a *act) { a.told, a.leave = 0, taken-1 }, before),
			joins(taken+quick, taken+4*quick), rival), outside(taken)), convicts},
		{"by a hold that was given back later than the call", tell(lock, does(with(func(a *act) { a.told, a.leave = 0, taken+quick }, before), soon, rival),
			outside(taken)), ""},
		{"by a hold that was told of its loss at that moment", tell(lock, does(with(func(a *act) { a.told = soon.back }, before), soon, rival), outside(taken)), ""},
		{"by a hold that had been told of its loss", tell(lock, does(with(func(a *act) { a.told = soon.back - 1 }, before), soon, rival), outside(taken)), convicts},
		{"by one that it was handed on to", tell(lock, does(with(func(a *act) { a.told, a.leave = 0, taken+quick }, before), soon,
			joins(taken+3*quick, taken+5*quick), rival), outside(taken)), ""},
		{"by one that it was not handed on to", tell(lock, does(with(func(a *act) { a.told, a.leave = 0, taken-2*quick }, before), soon,
			joins(taken+3*quick, taken+5*quick), rival), outside(taken)), "exclusion, late loss"},
		{"to one that asks", tell(lock, does(before, with(func(a *act) { a.asks = true }, soon), rival), outside(taken)), convicts},
		{"to one within another hold", tell(lock, does(before, with(func(a *act) { a.within = 1 }, soon), rival), outside(taken)), convicts},
		{"when its client has heard", tell(lock, does(before, soon, rival), outside(taken), hears("a", soon.back-1)), convicts},
		{"at the moment at which its client hears", tell(lock, does(before, soon, rival), outside(taken), hears("a", soon.back)), ""},
		{"when another client has heard", tell(lock, does(before, soon, rival), outside(taken), hears("b", soon.back-1)), ""},
		{"when its client has heard of what was before", tell(lock, does(before, soon, rival), outside(taken), hears("a", taken-1)), ""},
		{"with a disturbed network, as late as a reply", tell(lock, does(before, joins(taken+quick, taken+terms.Slack), rival), outside(taken),
			event(history.Suspend, "a", second), event(history.Resume, "a", taken+quick)), ""},
		{"with a disturbed network, later than a reply", tell(lock, does(before, joins(taken+quick, taken+terms.Slack+1), rival), outside(taken),
			event(history.Suspend, "a", second), event(history.Resume, "a", taken+quick)), convicts},
		{"a writer to a writer", tell(lock, does(act{client: "a", called: second, told: taken + 4*quick},
			with(func(a *act) { a.mode = history.Exclusive }, soon), rival), outside(taken)), ""},
		{"a writer to a writer, believed after the window", tell(lock, does(act{client: "a", called: second, told: taken + 4*quick},
			with(func(a *act) { a.mode, a.valid, a.told = history.Exclusive, 8*second, 8*second }, soon),
			with(func(a *act) { a.valid, a.leave = 9*second, 9*second }, rival)), outside(taken)), convicts},
	})
}

func TestALossThatCannotHaveBeen(t *testing.T) {
	lock := history.Record{}
	short := act{client: "a", called: second, least: second, leave: 2*second - 2, unsure: true, lost: 2*second - 1}
	with := func(change func(a *act)) act { a := short; change(&a); return a }
	try(t, []trial{
		{"its release says so before it can have run out", tell(lock, does(short)), "false loss"},
		{"its context says so before it can have run out", tell(lock, does(act{called: second, least: second, told: 2*second - 1})), "false loss"},
		{"it may have run out", tell(lock, does(with(func(a *act) { a.lost = 2 * second }))), ""},
		{"for how long it lasts is not known", tell(lock, does(with(func(a *act) { a.least = 0 }))), ""},
		{"it was taken away", tell(lock, does(short), outside(2*second-2)), ""},
		{"it was taken away before", tell(lock, does(short), outside(second-1)), "false loss"},
		{"it was taken away afterwards", tell(lock, does(short), outside(2*second)), "false loss"},
		{"it was handed on when it had been taken away", tell(lock, does(act{client: "a", called: second / 2, told: 2 * second}, short), outside(second-1)), ""},
		{"it was within another hold", tell(lock, does(act{client: "a", called: second / 2, leave: 3 * second}, with(func(a *act) { a.within = 1 }))), ""},
		{"it was left, which is no loss", tell(lock, does(act{called: second, least: second, leave: second + 2*quick, unsure: true, told: second + 3*quick})), ""},
		{"they are permits", tell(history.Record{N: 3}, does(with(func(a *act) { a.mode, a.n = history.Permits, 1 }))), "false loss"},
	})
}
