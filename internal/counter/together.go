package counter

import (
	"fmt"
	"runtime"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/lockorder"
)

// Together has operations share scripts: all that come while a script is under way share the next one. The
// first of them sends it, when the script before it is answered or has taken longer than longestWait.
//
//	no script under way ──► sent at once, for itself
//	one under way ──► first of a batch, waits ──► sends for all of it
//	                  later, joins the batch  ──► has the outcome of that script
//
// All of a batch have one error, and what is in doubt is carried through for all. The zero value is ready.
type Together struct {
	mu      lockorder.Mutex[lockorder.Together]
	sending int    // scripts that are under way
	next    *batch // not sent yet; nil: there is none
}

type batch struct {
	size  int64         // operations
	start chan struct{} // capacity 1: a script that was under way is answered
	done  chan struct{} // closed when err is known
	err   error
}

// longestWait is for how long a batch waits for the script before it.
const longestWait = 20 * time.Millisecond

// Do has send do so many operations as there are in a batch, or one alone.
func (s *Together) Do(c *Counter, send func(size int64) error) error {
	b, first := s.arrive()
	if !first {
		<-b.done
		return b.err
	}
	defer s.answered()
	if b == nil {
		return send(1)
	}
	s.seal(b)
	// Until the script has ended: a hook of the client may panic on this goroutine.
	b.err = fmt.Errorf("%w: %s %q: the call that sent the command of several has ended early", errs.Uncertain,
		c.kind.Noun(), c.Name)
	defer close(b.done)
	b.err = send(b.size)
	return b.err
}

// arrive answers the batch that an operation has joined, or that it is to send as its first; alone, there is
// none, and it is to be sent at once.
func (s *Together) arrive() (b *batch, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.next != nil:
		s.next.size++
		return s.next, false
	case s.sending == 0:
		s.sending++
		return nil, true
	}
	s.next = &batch{size: 1, start: make(chan struct{}, 1), done: make(chan struct{})}
	return s.next, true
}

// seal waits until the batch is to be sent. Nothing joins it any more.
func (s *Together) seal(b *batch) {
	late := time.NewTimer(longestWait)
	defer late.Stop()
	select {
	case <-b.start:
	case <-late.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
	s.sending++
}

// answered is called when a script is not under way any more. The callers that it has served may each have
// the next operation ready, which is to go with the batch that waits.
func (s *Together) answered() {
	runtime.Gosched()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending--
	if s.next != nil {
		select {
		case s.next.start <- struct{}{}:
		default:
		}
	}
}
