package multilock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/composite"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/rootapi"
)

// A round is an attempt to take all members. What it has got when it fails is given back.
type round struct {
	*call
	ctx     context.Context // carries what it has got
	start   time.Time
	heeds   bool   // it leaves to outsiders what a release has left to them
	got     []bool // by member
	members []holds.Member
}

func (c *call) round(ctx context.Context) *round {
	return &round{call: c, ctx: ctx, start: time.Now(), heeds: !c.Try, got: make([]bool, len(c.lock.members))}
}

// inOrder is the place of a busy member where none is known to be busy.
const inOrder = -1

// run takes all members.
//
// A member that was busy comes first and is waited for with nothing held. The members that stand before it in
// the order are then only tried: to wait for them would close circles among multi-locks, each of which ends
// by patience alone and makes others impatient, until all of them do little else. Members that one script can
// take are first tried together.
func (r *round) run(busy int, patience time.Duration) error {
	if busy != inOrder {
		if err := r.one(busy, patiently, 0); err != nil {
			return err
		}
	}
	tried := 0 // the members before this one were asked for together
	for i := range r.lock.members {
		how := awhile
		switch {
		case r.got[i]:
			continue
		case r.Try || slices.Contains(r.got[i:], true):
			how = once
		case len(r.members) == 0:
			how = patiently
		}
		var some []int
		if i >= tried && (r.gives || how != patiently) {
			some = r.together(i)
		}
		if len(some) > 1 {
			err := r.all(some)
			b, refused := errors.AsType[*blocked](err)
			switch {
			case err == nil:
				continue
			case refused && !r.gives && b.member > busy: // it is waited for
			case !errors.Is(err, composite.ErrApart):
				return err
			}
			tried = some[len(some)-1] + 1
		}
		if err := r.one(i, how, patience); err != nil {
			return err
		}
	}
	return nil
}

// take adds some members, for which ask asks.
func (r *round) take(some []int, ask func() ([]holds.Member, error)) error {
	returned := false
	// a member may panic, and a program that recovers from it would find the others held for ever
	defer raise.Unless(&returned, func() {
		r.GiveBack(raise.Background(r.ctx, r.Log()), r.members)
	})
	members, err := ask()
	returned = true
	if err != nil {
		return err
	}
	for _, i := range some {
		r.got[i] = true
	}
	if len(members) == len(r.got) {
		r.members = members
		return nil
	}
	r.members = append(r.members, members...)
	// a member that is the same lock as an earlier one re-enters, or says at once that it cannot
	for _, m := range members {
		r.ctx = holds.Lend(r.ctx, m.Hold)
	}
	return nil
}

// together are the members that one script is asked for: the member i, and the next ones in the order that it
// can take too. Where nothing is waited for while something is held, they are all others that it can take.
func (r *round) together(i int) []int {
	bases := r.Bases
	some := make([]int, 0, min(composite.MostTogether, len(bases)-i))
	for n := i; n < len(bases) && len(some) < composite.MostTogether; n++ {
		switch {
		case r.got[n]:
		case bases[n] != nil &&
			!slices.ContainsFunc(some, func(m int) bool { return !composite.Together(bases[m], bases[n]) }) &&
			!locking.Carries(r.ctx, bases[n]):
			some = append(some, n)
		case n == i, !r.Try && !(r.gives && r.lock.whole):
			return some
		}
	}
	return some
}

// all asks once for some members together.
func (r *round) all(some []int) error {
	bases := make([]*baselock.Base, len(some))
	for n, i := range some {
		bases[n] = r.Bases[i]
	}
	return r.take(some, func() ([]holds.Member, error) {
		got, busy, err := composite.TryAll(r.ctx, bases, r.Opts, r.Try, r.heeds)
		if err != nil && r.ctx.Err() == nil && errors.Is(err, errs.NotAcquired) {
			err = &blocked{some[busy], true, err}
		}
		return got, err
	})
}

// A manner is how one member is asked for.
type manner int

const (
	patiently manner = iota // with nothing held: as long as the call may take
	awhile                  // while others are held
	once
)

// one asks for the member i by itself. It waits awhile for patience.
func (r *round) one(i int, how manner, patience time.Duration) error {
	return r.take([]int{i}, func() ([]holds.Member, error) {
		h, err := r.ask(i, how, patience)
		if err != nil {
			return nil, err
		}
		return []holds.Member{{Name: r.lock.members[i].Name(), Hold: rootapi.Adopt(h)}}, nil
	})
}

func (r *round) ask(i int, how manner, patience time.Duration) (h *redlatch.Hold, err error) {
	m := r.lock.members[i]
	switch how {
	case patiently:
		return m.Lock(r.ctx, r.forMember(0))
	case once:
		h, err = m.TryLock(r.ctx, r.forMember(0))
	case awhile:
		wait := patience/2 + jitter.Below(patience/2)
		if lease := r.Set.Lease; lease > 0 {
			wait = max(time.Millisecond, min(wait, lease/3)) // what is held should not run out meanwhile
		}
		h, err = m.Lock(r.ctx, r.forMember(wait))
	}
	// the time of the member, of which nothing may be known
	over := how == awhile && errors.Is(err, context.DeadlineExceeded)
	if err != nil && r.ctx.Err() == nil && (over || errors.Is(err, errs.NotAcquired)) {
		err = &blocked{member: i, err: err}
	}
	return h, err
}
