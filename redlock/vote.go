package redlock

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/rootapi"
)

// One server, the chair, says whose turn it is. The head of a local queue waits for the lock of that server
// as a waiter of package rlock does: in the process queue. So a release wakes one process, and hands it the
// chair's vote. The head then asks the others.
//
//	        stands in the chair's queue            others grant
//	HEAD ───────────────────────────────► vote ──────────────────► held
//	  │                                    │
//	  │ now and then, without the vote     └── others refuse, also when asked again ──► vote given back, a pause
//	  └── asks the others, a majority of which is enough ──► held
//
// The chair is the first server that is not known to be down. A process knows that from the last answer that
// it had, or missed. Two processes may know different things. Then each of two chairs has a queue, and it is
// a matter of luck which of two votes wins.

// A vote is the grant of the chair, for which a call waits there.
type vote struct {
	call  *call
	chair int
	stop  context.CancelFunc
	used  bool // a round has taken it over, and gives it to a hold or back

	known  chan struct{} // closed when the wait for the vote is over; what follows may be read then
	member holds.Member
	passed bool         // another process handed it on
	err    error        // nil when it was granted
	raised *raise.Panic // what the wait has panicked with
}

// awaitVote has the call wait for the vote. over is called when the wait is over.
func (c *call) awaitVote(ctx context.Context, over func()) *vote {
	v := &vote{call: c, chair: c.lock.chair(), known: make(chan struct{})}
	n := v.node()
	ctx, v.stop = context.WithCancel(ctx)
	raise.Go(func() {
		defer v.stop() // else the caller's context, which may live on, would keep ctx for ever
		h, err := locking.Lock(ctx, n.base, c.Opts)
		n.tells(ctx, err)
		if v.err = err; err == nil {
			v.member = n.grant(h)
			v.passed = v.member.Hold.(interface{ Passed() bool }).Passed()
		}
	}, func(raised *raise.Panic) {
		if v.raised = raised; raised != nil {
			v.err = raised
		}
		close(v.known)
		over()
	})
	return v
}

func (v *vote) node() node { return v.call.lock.nodes[v.chair] }

// isKnown tells whether the wait for the vote is over.
func (v *vote) isKnown() bool {
	select {
	case <-v.known:
		return true
	default:
		return false
	}
}

// queues tells whether the call has to wait because the lock of the chair is taken.
func (v *vote) queues() bool { return locking.KnownTaken(v.node().base) }

// probe finds out, behind the call, whether the chair is down: the wait there may hear of it only when it
// polls. changed is called when it is.
func (v *vote) probe(ctx context.Context, changed func()) {
	go func() {
		ctx = raise.Background(ctx, v.call.Log())
		failed, _ := v.node().ask(ctx, v.call.nodeTimeout(), func(ctx context.Context) error {
			_, err := locking.Status(ctx, v.node().base)
			return err
		})
		if failed != nil {
			changed()
		}
	}()
}

// answer is the vote as the answer of the chair, once it is known.
func (v *vote) answer() answer {
	if v.err == nil {
		return answer{place: v.chair, member: v.member}
	}
	return answer{place: v.chair, err: v.node().nodeError(v.err), raised: v.raised}
}

// abandon ends the wait, unless a round has the vote. A vote that comes all the same is given back.
func (v *vote) abandon() {
	if v.used {
		return
	}
	v.stop()
	go func() {
		<-v.known
		v.raised.Log(v.call.Log())
		if v.err == nil {
			_ = v.member.Unlock(raise.Background(context.Background(), v.call.Log()))
		}
	}()
}

// tells notes what an attempt with ctx has found out of the node.
func (n node) tells(ctx context.Context, err error) {
	if ctx.Err() == nil {
		n.base.Session.Down.Store(err != nil && !errors.Is(err, errs.NotAcquired) && !errors.Is(err, errs.Invalid) &&
			// a hold in the context is over, of which the server is not the cause
			!errors.Is(err, errs.Lost) && !errors.Is(err, errs.Released))
	}
}

// grant is a hold of the node's lock as a member.
func (n node) grant(h *redlatch.Hold) holds.Member {
	return holds.Member{Name: n.label, Server: true, Hold: rootapi.Adopt(h)}
}
