// Package raise brings a panic of the program's own code, such as a hook of the Redis client or an observer,
// to where the program can recover from it. On the goroutine of a call the panic is the call's. On a
// goroutine of this module no program could recover from it, and the process would end. So the panic is
// caught there, and raised by the call that waits for the goroutine. Where no call waits it is written to the
// log.
package raise

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// A Panic is what a call raises in the place of a goroutine of this module.
type Panic struct {
	Value any    // what the code panicked with; nil when it ended its goroutine by runtime.Goexit
	Stack []byte // of the goroutine on which it did
}

func (p *Panic) Error() string {
	if p.Value == nil {
		return fmt.Sprintf("a hook of the Redis client, or other code of the program, has ended its goroutine\n\n%s", p.Stack)
	}
	return fmt.Sprintf("a hook of the Redis client, or other code of the program, has panicked: %v\n\n%s", p.Value,
		p.Stack)
}

// Unwrap is what the code panicked with, if that was an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Caught is for a deferred function that finds that its goroutine has not returned. value is what it has
// recovered. A Panic that was raised before stays what it is.
func Caught(value any) *Panic {
	if p, ok := value.(*Panic); ok {
		return p
	}
	return &Panic{value, debug.Stack()}
}

// Here runs fn, and then failed, if fn has panicked. After a runtime.Goexit the goroutine ends behind failed.
func Here(fn func(), failed func(*Panic)) {
	returned := false
	defer func() {
		if !returned {
			failed(Caught(recover()))
		}
	}()
	fn()
	returned = true
}

// Unless is to be deferred by what the program's own code may keep from returning, by a panic or a
// runtime.Goexit. It calls failed then, and the panic goes on behind it.
func Unless(returned *bool, failed func()) {
	if !*returned {
		failed()
	}
}

// Go runs fn on a goroutine of its own, and there done, with what fn has panicked with; nil when fn has
// returned.
func Go(fn func(), done func(*Panic)) {
	go func() {
		var raised *Panic
		defer func() { done(raised) }()
		Here(fn, func(p *Panic) { raised = p })
	}()
}

// Run runs fn on a goroutine of its own, waits for it, and returns what it has panicked with.
func Run(fn func()) *Panic {
	done := make(chan *Panic, 1)
	Go(fn, func(raised *Panic) { done <- raised })
	return <-done
}

// All calls fn with 0 to n-1, each on a goroutine of its own, waits for all of them, and returns what the
// first to panic has panicked with. What others have panicked with is written to log.
func All(n int, fn func(i int), log *slog.Logger) (first *Panic) {
	done := make(chan *Panic, n)
	for i := range n {
		Go(func() { fn(i) }, func(raised *Panic) { done <- raised })
	}
	for range n {
		if raised := <-done; first == nil {
			first = raised
		} else {
			raised.Log(log)
		}
	}
	return first
}

type background struct{}

// Background returns ctx for what no call waits for, or can raise the panic of. A command whose hook panics
// fails then, and log gets a line.
func Background(ctx context.Context, log *slog.Logger) context.Context {
	return context.WithValue(ctx, background{}, log)
}

// Unattended tells whether ctx stems from Background.
func Unattended(ctx context.Context) bool { return ctx.Value(background{}) != nil }

// Raise panics with p, if there is one. Where ctx stems from Background it writes p to the log instead.
func (p *Panic) Raise(ctx context.Context) {
	if p == nil {
		return
	}
	if !Unattended(ctx) {
		panic(p)
	}
	p.Log(ctx.Value(background{}).(*slog.Logger))
}

// Log writes p to log, if there are both.
func (p *Panic) Log(log *slog.Logger) {
	if p != nil && log != nil {
		log.Error("redlatch: a hook of the Redis client has panicked in the background", "panic", p)
	}
}
