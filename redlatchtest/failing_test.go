package redlatchtest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A failing is a testing.TB that notes its failures. Its cleanups run when failure returns.
type failing struct {
	testing.TB

	mu       sync.Mutex
	said     []string
	cleanups []func()
}

// failure runs fn as a test and returns what it has said.
func failure(t *testing.T, fn func(tb testing.TB)) string {
	f := &failing{TB: t}
	run := func(fn func()) {
		done := make(chan struct{})
		go func() { defer close(done); fn() }()
		<-done
	}
	run(func() { fn(f) })
	for len(f.cleanups) > 0 {
		last := f.cleanups[len(f.cleanups)-1]
		f.cleanups = f.cleanups[:len(f.cleanups)-1]
		run(last)
	}
	return strings.Join(f.said, "\n")
}

func (f *failing) Helper()           {}
func (f *failing) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }

func (f *failing) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

func (f *failing) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }
