package multilock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/composite"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/session"
)

// The goroutines of one process that want the same members wait in one queue, before any member, and hand all
// of them on to one another without a command; see quorum. Who waits for one member alone gets it when they
// are given back.
//
// That is for members whose owners are nothing but their fields in Redis (an rlock, a spinlock). Of a member
// that is a program's own Locker nothing is known, even if one of ours is inside.

// meet finds out what the members stand on.
func (l *Lock) meet() {
	l.of.Bases, l.whole = make([]*baselock.Base, len(l.members)), true
	kind := strings.Builder{}
	for i, m := range l.members {
		if ours(m, "rlock", "spinlock") {
			l.of.Bases[i] = composite.Meet(m)
		}
		base := l.of.Bases[i]
		if base == nil {
			l.whole = false
			continue
		}
		fmt.Fprint(&kind, " ", base.Session.ID, base.Kind.Label, base.Key)
	}
	if l.whole {
		l.of.Line = cohort.KeyFor(l.of.Bases[0].Key, string(redlatch.KindMultiLock)+kind.String())
	}
}

// module is the path of the module's root package.
var module = strings.TrimSuffix(reflect.TypeFor[Lock]().PkgPath(), "/multilock")

// ours tells whether m is itself, and does not only contain, a lock of one of these packages of this module.
func ours(m redlatch.Locker, packages ...string) bool {
	t := reflect.TypeOf(m)
	if t.Kind() != reflect.Pointer {
		return false
	}
	name, in := strings.CutPrefix(t.Elem().PkgPath(), module+"/")
	return in && slices.Contains(packages, name)
}

// wait takes a place in the queue. The first in it makes rounds.
func (c *call) wait(ctx context.Context) (got *quorum.Hold, err error) {
	line, held, part := c.Bases[0].Session.Join(c.Line, session.Channels{})
	defer part()
	if line.Found() == nil && (held || line.Len() > 0) {
		line.Note(own)
	}
	request := c.Request(held)
	yielded, asked := false, false
	err = line.WaitFor(ctx, c.Set.Poll, request, func(ctx context.Context) (v cohort.Verdict, err error) {
		if line.Yields() {
			yielded = true
			return cohort.Verdict{Sleep: locking.YieldFor,
				Found: errs.Refusal("is left to other processes for a moment")}, nil
		}
		asked = true
		if got, err = c.rounds(delivery.Watched(ctx, line.Note),
			quorum.Before{Alone: yielded, Kept: line.ClosedSince()}); err != nil {
			return cohort.Verdict{Down: ctx.Err() == nil && errors.Is(err, errs.Unavailable)}, err
		}
		// An earlier hold that has ended meanwhile has called the line. The next waiter would ask for what this one
		// has, and could not be given it.
		line.Refresh()
		_, held, _ = c.Bases[0].Session.Cohorts.Busy(c.Line, false)
		return cohort.Verdict{Done: true, More: !held, Sleep: c.Poll(), Found: own}, nil
	})
	switch {
	case err == nil && got == nil:
		got = request.Grant.(*quorum.Hold)
	case err != nil && !asked && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = c.Over(ctx, err, line.Found())
	}
	return got, err
}

const own = errs.Refusal("is held or waited for by this process")
