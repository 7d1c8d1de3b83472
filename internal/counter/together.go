package counter

import (
	"fmt"
	"runtime"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/lockorder"
)

// Together has operations share scripts: those that come while a script is under way share the next one. The
// first of them sends it, when the script before it is answered or has taken longer than patience.
//
//	no script under way ──► sent at once, for itself
//	one under way ──► first of a batch, waits ──► sends for all of it
//	                  later, joins the batch  ──► has the outcome of that script
//
// All of a batch have one error, and what is in doubt is carried through for all. What else send finds out it
// may write to those that it was given: their calls return later. The zero value is ready.
type Together[T any] struct {
	Most int // in one batch; 0: any number

	mu      lockorder.Mutex[lockorder.Together]
	sending int       // scripts that are under way
	next    *batch[T] // not sent yet; nil: there is none
}

type batch[T any] struct {
	all   []T
	start chan struct{} // capacity 1: a script that was under way is answered
	done  chan struct{} // closed when err is known
	err   error
}

// patience is for how long a batch waits for the script before it.
const patience = 20 * time.Millisecond

// Do has send do what one is for, and what the others of its batch are for.
func (s *Together[T]) Do(c *Counter, one T, send func(all []T) error) error {
	b, first := s.arrive(one)
	if !first {
		<-b.done
		return b.err
	}
	defer s.answered()
	if b == nil {
		return send([]T{one})
	}
	s.seal(b)
	// Until the script has ended: a hook of the client may panic on this goroutine.
	b.err = fmt.Errorf("%w: %s %q: the call that sent the command of several has ended early", errs.Uncertain,
		c.kind.Noun(), c.Name)
	defer close(b.done)
	b.err = send(b.all)
	return b.err
}

// arrive answers the batch that one has joined, or that it is to send as its first; alone, there is none, and
// it is to be sent at once.
func (s *Together[T]) arrive(one T) (b *batch[T], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.next != nil && (s.Most == 0 || len(s.next.all) < s.Most):
		s.next.all = append(s.next.all, one)
		return s.next, false
	case s.next != nil, s.sending == 0:
		s.sending++
		return nil, true
	}
	s.next = &batch[T]{all: []T{one}, start: make(chan struct{}, 1), done: make(chan struct{})}
	return s.next, true
}

// seal waits until the batch is to be sent. Nothing joins it any more.
func (s *Together[T]) seal(b *batch[T]) {
	late := time.NewTimer(patience)
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

// answered is called when a script is not under way any more. Those whom it has served may have the next
// operation ready, and that goes with the batch that waits.
func (s *Together[T]) answered() {
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
