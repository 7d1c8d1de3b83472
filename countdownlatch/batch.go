package countdownlatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	script "github.com/redlatch/redlatch/internal/scripts/countdownlatch"
)

// Count-downs of one Latch that come while a script of one is under way share the next script. The first of them sends it, when
// that script is answered or has taken longer than patience.
//
//	no script under way ──► sent at once, for itself
//	one under way ──► first of a batch, waits ──► sends for all of it
//	                  later, joins the batch  ──► has the outcome of that script
//
// All of a batch have one outcome, because the script does all or nothing, and what is in doubt is carried through for all.
type arrivals struct {
	mu      sync.Mutex
	sending int    // scripts that are under way
	next    *batch // not sent yet; nil: there is none
}

type batch struct {
	n     int64
	start chan struct{} // capacity 1: a script that was under way is answered
	done  chan struct{} // closed when err is known
	err   error
}

// patience is for how long a batch waits for the script before it.
const patience = 20 * time.Millisecond

// arrive is called for a count-down. It answers the batch that this has joined, or that it is to send as its first; alone, there
// is none, and it is to be sent at once.
func (a *arrivals) arrive() (b *batch, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.next != nil:
		a.next.n++
		return a.next, false
	case a.sending == 0:
		a.sending++
		return nil, true
	}
	a.next = &batch{n: 1, start: make(chan struct{}, 1), done: make(chan struct{})}
	return a.next, true
}

// seal waits until the batch is to be sent, and answers how many count-downs it has. Nothing joins it any more.
func (a *arrivals) seal(b *batch) int64 {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-b.start:
	case <-late.C:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = nil
	a.sending++
	return b.n
}

// answered is called when a script is not under way any more.
func (a *arrivals) answered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sending--
	if a.next != nil {
		select {
		case a.next.start <- struct{}{}:
		default:
		}
	}
}

// CountDown takes one from the count; the latch opens at zero. It ignores the cancellation of ctx and has a time
// limit of its own ([redlatch.WithReleaseTimeout]); what is in doubt by then is carried through in the background, and
// the error matches ErrUncertain. If the latch does not exist nothing happens. Calls that come at the same time share a command.
func (l *Latch) CountDown(ctx context.Context) error {
	b, first := l.arrivals.arrive()
	if !first {
		<-b.done
		return b.err
	}
	n := int64(1)
	if b != nil {
		n = l.arrivals.seal(b)
		// Until the script has ended: a hook of the client may panic on this goroutine.
		b.err = fmt.Errorf("%w: latch %q: the call that counted down for several has ended early", redlatch.ErrUncertain, l.Name())
		defer close(b.done)
	}
	defer l.arrivals.answered()
	op := l.counter.Begin(ctx)
	_, err := counter.GiveBack(ctx, op, script.CountDown(l.keys, n, op.Wake, op.Call))
	if b != nil {
		b.err = err
	}
	return err
}
