package raise

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// Logger returns l with a handler whose panics end neither a goroutine of this module nor a release of the
// program: the panic and the line go to standard error instead, where a panic that nobody recovers from would
// go too. It returns nil for nil.
func Logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return nil
	}
	if _, already := l.Handler().(handler); already {
		return l
	}
	return slog.New(handler{l.Handler(), slog.NewTextHandler(stderr{}, nil)})
}

// A handler is one of the program's.
type handler struct {
	its   slog.Handler
	spare slog.Handler // for what its panics at
}

func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	lockorder.Unlocked("a log handler is called")
	defer tried(func() { enabled = true })
	return h.its.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	defer tried(func() { _ = h.spare.Handle(ctx, r) })
	return h.its.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := handler{h.its, h.spare.WithAttrs(attrs)}
	func() {
		defer tried(func() {})
		next.its = h.its.WithAttrs(attrs)
	}()
	return next
}

func (h handler) WithGroup(name string) slog.Handler {
	next := handler{h.its, h.spare.WithGroup(name)}
	func() {
		defer tried(func() {})
		next.its = h.its.WithGroup(name)
	}()
	return next
}

// tried is to be deferred by what asks a handler of the program. It writes what that has panicked with, and
// does instead.
func tried(instead func()) {
	if value := recover(); value != nil {
		_, _ = fmt.Fprintf(stderr{}, "redlatch: the handler of a logger has panicked: %v\n\n%s\n", value, debug.Stack())
		instead()
	}
}

// stderr is what standard error is now.
type stderr struct{}

func (stderr) Write(text []byte) (int, error) { return os.Stderr.Write(text) }
