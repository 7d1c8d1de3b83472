package models

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/judge"
)

// A scene is one object in its history.
type scene struct {
	*history.History
	*history.Thing
	terms judge.Terms
}

// latch are the steps of a latch. A count-down of unknown outcome may come last, after everything that it could have changed.
func (s *scene) latch() (steps []*step) {
	for id, a := range s.Acts {
		one := &step{act: a, id: id, from: a.Called, to: a.Back}
		switch {
		case a.Mode == history.CountDown && a.Outcome == history.Got:
			one.kind = add
		case a.Mode == history.CountDown && unknown(a):
			one.kind, one.to = add, history.Never
		case a.Mode == history.Await && a.Outcome == history.Got:
			one.kind = take
		case a.Mode == history.Await && a.Outcome == history.Refused:
			one.kind = refuse
		default:
			continue
		}
		steps = append(steps, one)
	}
	return steps
}

// parts are the steps in which the number of permits changes. A process that hands permits on among its goroutines learns of a
// removal a moment later than the others. So each removed permit is a step of its own.
func parts(n int64) []int64 {
	if n < 0 {
		return slices.Repeat([]int64{-1}, int(-n))
	}
	return []int64{n}
}

// changed is the time by which all processes have noticed a change of the number of permits.
func (s *scene) changed(a *history.Act) history.Time {
	if a.N < 0 {
		return a.Back + s.terms.Slack
	}
	return a.Back
}

// holds are the steps of a lock or a semaphore.
func (s *scene) holds() (steps []*step) {
	for id, a := range s.Acts {
		one := func(kind kind, from, to history.Time) *step {
			steps = append(steps, &step{kind: kind, act: a, id: id, from: from, to: to})
			return steps[len(steps)-1]
		}
		switch {
		case a.Mode == history.Add && a.Outcome == history.Got:
			for _, n := range parts(a.N) {
				one(add, a.Called, s.changed(a)).n = n
			}
		case a.Mode == history.Add && unknown(a):
			for _, n := range parts(a.N) {
				one(add, a.Called, history.Never).n = n
			}
		case a.Mode == history.Add:
		case unknown(a), judge.Unsettled(s.History, s.terms, a):
			until := s.forgotten(a)
			one(take, a.Called, until).doubtful = true
			one(drop, a.Called, until).doubtful = true
		case a.Outcome == history.Got:
			taken := s.takenAway(a)
			if taken != history.Never && s.handedOn(a) {
				one(take, a.Called, a.Back).doubtful = true
				one(drop, a.Called, max(a.Called, s.lasts(a))).doubtful = true
				continue
			}
			one(take, a.Called, a.Back)
			switch {
			case taken != history.Never && a.Over != history.Never:
				one(give, a.Leaving, a.Over).either = true
				one(drop, taken, max(taken, s.lasts(a))).either = true
			case taken != history.Never:
				from := min(taken, a.Certain)
				one(drop, from, max(from, s.lasts(a)))
			case a.Over != history.Never:
				one(give, a.Leaving, a.Over)
			case a.Lease > 0:
				one(drop, a.Certain, min(s.lasts(a), s.followed(a)))
			case a.Leaving != history.Never: // without a lease they end when they are given back, perhaps
				one(drop, a.Leaving, history.Never)
			}
		case a.Outcome == history.Refused && s.judged(a):
			one(refuse, a.Called, a.Back)
		}
	}
	return steps
}

func unknown(a *history.Act) bool { return a.Outcome == history.Doubt || a.Outcome == "" }

// forgotten is when an act whose outcome is unknown has certainly left nothing behind.
func (s *scene) forgotten(a *history.Act) history.Time {
	if a.Outcome == history.Doubt && s.KilledAt(a.Client) == history.Never {
		return later(a.Back, max(s.terms.Undo, a.Lease))
	}
	if killed := s.KilledAt(a.Client); killed != history.Never && a.Lease > 0 {
		return later(killed, a.Lease+s.terms.Slack)
	}
	return history.Never
}

// followed is when the object was granted to another holder who had asked for it after this one had it: by then this one
// has ended. It is no more than follows from the rule of locks, and spares the search many orders.
func (s *scene) followed(a *history.Act) history.Time {
	at := history.Never
	for _, b := range s.Acts {
		if b.Outcome == history.Got && b.Called > a.Back && b.Root() != a.Root() && a.Mode != history.Permits &&
			(a.Mode == history.Exclusive || b.Mode == history.Exclusive) {
			at = min(at, b.Back)
		}
	}
	return max(at, a.Certain)
}

// lasts is when a hold is over at the latest.
func (s *scene) lasts(a *history.Act) history.Time {
	if a.Lease == 0 {
		return history.Never
	}
	last := a.Over
	if last == history.Never {
		last = a.Told
	}
	if root := a.Root(); root != a && last != history.Never { // what it has left in the server is renewed with the rest
		last = max(last, min(root.Over, root.Told))
	}
	if killed := s.KilledAt(a.Client); killed != history.Never && last > killed {
		last = killed
	}
	return later(last, a.Lease+s.terms.Slack)
}

// takenAway is when an act from outside may have ended a hold that believed in itself for no longer than the window
// afterwards. Another act within the window opens another window.
func (s *scene) takenAway(a *history.Act) history.Time {
	for i, act := range s.Outside {
		if !judge.Had(s.History, s.Thing, s.terms, a, act) || act.From > min(a.Over, later(max(a.Certain, a.Back), s.terms.Window)) {
			continue
		}
		until := act.To
		for _, next := range s.Outside[i:] {
			if next.From <= until {
				until = judge.WindowEnd(s.History, s.terms, a.Client, next)
			}
		}
		if until >= a.Certain {
			return max(act.From, a.Called)
		}
	}
	return history.Never
}

// handedOn tells whether a may have got what had been taken away from its process before: then it never had anything.
func (s *scene) handedOn(a *history.Act) bool {
	return slices.ContainsFunc(s.Outside, func(act history.Span) bool {
		return act.To < judge.GrantedSince(s.History, s.terms, a) && judge.Had(s.History, s.Thing, s.terms, a, act)
	})
}

// yields is for how long a lock that others waited for may be left to outsiders after a release, with what a message takes. The calls of
// the process that leaves it are refused meanwhile, also if nobody waits any more.
const yields = history.Time(40 * time.Millisecond)

// judged tells whether a refusal can be judged: no other call waited then or had waited for what was just given back, the outcome of every call was known, no request
// can have been executed again, and no release of several permits was under way. Of these permits one may have gone to a waiter of the same
// process, and the rest be on its way to the server. An object without a bound is held together with others, and may be
// refused on account of them.
func (s *scene) judged(a *history.Act) bool {
	if s.Bound == 0 || a.Within != nil || len(s.Outside) > 0 {
		return false
	}
	return !slices.ContainsFunc(s.Acts, func(other *history.Act) bool {
		hindered := s.Hindered(other.Client, other.Called, other.Back)
		if other.N > 1 && other.Outcome == history.Got && other.Leaving <= a.Back && a.Called <= other.Over {
			return true
		}
		if other == a || other.Try && !unknown(other) && !hindered {
			return false
		}
		until := other.Back
		if other.Outcome != history.Got || s.Fair || hindered { // it may have left its place in a queue, or a copy of itself
			until = later(until, max(other.Lease, s.terms.Undo))
		}
		if a.Mode != history.Permits && other.Over != history.Never && s.waited(other) {
			until = max(until, later(other.Over, yields))
		}
		return other.Called <= a.Back && a.Called <= until
	})
}

// waited tells whether a call got what another held when it asked. One whose release is not known to have happened may have held it for
// as long as its lease lasted.
func (s *scene) waited(a *history.Act) bool {
	return a.Outcome == history.Got && slices.ContainsFunc(s.Acts, func(before *history.Act) bool {
		end := before.Over
		if end == history.Never {
			end = min(s.lasts(before), a.Back)
		}
		return before != a && before.Outcome == history.Got && before.Back <= a.Back && a.Called < end && end <= a.Back
	})
}

func later(t, by history.Time) history.Time {
	if t > history.Never-by {
		return history.Never
	}
	return t + by
}
