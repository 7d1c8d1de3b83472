package composite

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// A composite takes its members on one server with one script, all or none of them. From then on each member
// is a tenure of its own: it is renewed, lost and settled as any other.
//
//	                     all are free
//	asked for in one ────────────────────────► each is held
//	         │   │
//	         │   └── one is busy: it is named ─► none is held
//	         │
//	         └── the outcome is unknown ───────► each is settled

// ErrApart says that one script cannot take the members now, and that each can be asked for by itself.
var ErrApart = errors.New("redlatch: one script cannot take these locks")

// MostTogether is how many locks one script is asked for. One for a release has ten keys and arguments for
// each: some services take 3 999 in all, Redis itself not quite 8 000 keys in one of its commands. And while
// a script runs the server answers no other client.
const MostTogether = 256

// TryAll asks once for all that bases lock, with the same options. If one is busy, the error matches
// ErrNotAcquired, and busy is the place of that one. With heeds it is busy too while a release of another
// process has left it to outsiders.
func TryAll(
	ctx context.Context, bases []*baselock.Base, opts []redlatch.Option, try, heeds bool,
) (got []holds.Member, busy int, err error) {
	start := time.Now()
	owners, err := ownersOf(bases, opts)
	if err != nil {
		return nil, 0, err
	}
	wants := make([]rlock.Want, len(owners))
	var open []string
	for i, t := range owners {
		if err := t.Base.Ready(ctx, t.First.Set.OutageFor(try)); err != nil {
			return nil, 0, err
		}
		s := t.Asking()
		wants[i] = rlock.Want{Key: s.Key, Owner: s.Owner, Lease: s.Lease}
		switch {
		case heeds && t.Base.Row == "":
			open = append(open, s.Key)
		case heeds:
			open = append(open, row.Open(t.Base.RowKeys))
		}
	}
	cmd := rlock.AcquireAll(wants, open)
	returned := false
	defer raise.Unless(&returned, func() { // a hook of the client may panic on this goroutine, or an observer
		declineAll(got)
		for _, t := range owners[len(got):] {
			t.Doubted()
		}
	})
	limit := delivery.Limit{Outage: owners[0].First.Set.OutageFor(try), Apart: true, Patient: true}
	reply, receipt, err := delivery.Deliver(ctx, bases[0].Session.Dispatch, cmd, limit)
	switch {
	case err != nil:
		err = abandonAll(ctx, owners, delivery.AsFailure(err), cmd)
	case !reply.Held:
		b := bases[reply.Busy]
		busy, err = reply.Busy, locking.Taken(b, reply.Remaining)
		if reply.Open { // as if this process had left it to them
			b.Session.Cohorts.Yield(b.Line, time.Now().Add(reply.Remaining), false)
			err = locking.LeftToOthers(b)
		}
		if receipt.Doubt { // the send that was answered may have found the locks of an earlier one
			baselock.GiveUpAll(owners, true)
		}
	default:
		got, err = acceptAll(owners, receipt)
		if !try && errors.Is(err, baselock.ErrLate) { // the wait goes on, for each lock as it does for a single one
			err = ErrApart
		}
	}
	if err == nil {
		for _, m := range got {
			m.Hold.(*baselock.Hold).TellOf(ctx, start)
		}
	}
	returned = true
	return got, busy, err
}

// ownersOf makes the owners that are to hold. The error is ErrApart where one of the locks is held or waited
// for in this process, because a call has to stand in the queue of those; and where replicas are asked for,
// because each lock waits for its own.
func ownersOf(bases []*baselock.Base, opts []redlatch.Option) ([]*baselock.Tenure, error) {
	owners := make([]*baselock.Tenure, len(bases))
	for i, b := range bases {
		set, err := b.Resolve(opts, false)
		if err != nil || set.Replicas > 0 {
			return nil, ErrApart
		}
		if waited, held, open := b.Session.Cohorts.Busy(b.Line, false); waited || held || open.Left > 0 {
			return nil, ErrApart
		}
		owners[i] = baselock.NewTenure(b, set)
	}
	return owners, nil
}

// abandonAll settles the owners of an acquisition that failed, and returns its error: ErrApart where the
// server refused the script, which says nothing about the scripts for one key.
func abandonAll(ctx context.Context, owners []*baselock.Tenure, f *delivery.Failure,
	cmd scripts.Command[rlock.AttemptAll]) error {
	baselock.Abandon(f, cmd, func(all rlock.AttemptAll) bool { return all.Held }, owners...)
	if !f.Doubt && separable(f.Err) && !outcome.Passing(f.Err) { // which would refuse each by itself too
		return ErrApart
	}
	return locking.Explain(ctx, owners[0].Base, f)
}

// acceptAll makes a granted acquisition holds, unless its answer took so long that one of them can no longer
// be trusted.
func acceptAll(owners []*baselock.Tenure, receipt delivery.Receipt) (got []holds.Member, err error) {
	got = make([]holds.Member, 0, len(owners))
	for _, t := range owners {
		h, late := t.Accept(receipt, scripts.Attempt{Held: true})
		if late != nil {
			err = t.Base.Broken(late)
		} else {
			got = append(got, holds.Member{Name: t.Base.Name, Hold: h})
		}
		if receipt.Doubt {
			t.Doubted() // only now: settling takes the count to that of the holds handed out
		}
	}
	if err == nil {
		return got, nil
	}
	declineAll(got)
	return nil, err
}
