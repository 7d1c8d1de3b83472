package redlatch

import (
	"context"
	"errors"
)

// Observers is one observer in place of several. Each is told everything: of the beginning of a wait in this
// order, with the context that the one before has returned, and of its end in reverse, each with its own
// context. What one of them panics with does not keep the end of the wait, or anything else, from the others.
// A nil one is left out; without any other Observers is nil.
//
//	redlatch.SetDefaultObserver(redlatch.Observers(redlatch.DefaultObserver(), metrics))
func Observers(all ...Observer) Observer {
	s := &several{}
	for _, o := range all {
		if o != nil {
			s.all = append(s.all, o)
		}
	}
	switch len(s.all) {
	case 0:
		return nil
	case 1:
		return s.all[0]
	}
	return s
}

type several struct{ all []Observer }

var errObserver = errors.New("redlatch: another observer has panicked when the wait began")

// WaitStart hands the context on from one to the next. The value of what it returns is the contexts of all.
func (s *several) WaitStart(ctx context.Context, e Event) context.Context {
	contexts := make([]context.Context, 0, len(s.all))
	defer func() {
		if len(contexts) < len(s.all) {
			e.Kind, e.Outcome, e.Err = EventRefused, OutcomeError, errObserver
			s.end(contexts, e)
		}
	}()
	for _, o := range s.all {
		if within := o.WaitStart(ctx, e); within != nil {
			ctx = within
		}
		contexts = append(contexts, ctx)
	}
	return context.WithValue(ctx, s, contexts)
}

// WaitEnd tells the last one first.
func (s *several) WaitEnd(ctx context.Context, e Event) {
	contexts, _ := ctx.Value(s).([]context.Context)
	s.end(contexts, e)
}

// end tells those whose waits have begun. What is deferred is called in reverse, also behind a panic.
func (s *several) end(contexts []context.Context, e Event) {
	for i, ctx := range contexts {
		defer s.all[i].WaitEnd(ctx, e)
	}
}

// Observe tells the first one first.
func (s *several) Observe(ctx context.Context, e Event) {
	for i := len(s.all) - 1; i >= 0; i-- {
		defer s.all[i].Observe(ctx, e)
	}
}
