package holds_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A stuck is a hold whose program is told that it was dropped, and blocks.
type stuck struct {
	holds.Hold
	told    *atomic.Int64
	release <-chan struct{}
}

func (s *stuck) Forgotten(*holds.Place) {
	s.told.Add(1)
	<-s.release
}

// A face is the public side of a hold, as the root package has it.
type face struct {
	inner holds.Hold
	_     [64]byte // an object of its own, which no other one keeps alive
}

//go:noinline
func drop(inner holds.Hold) { holds.OnDrop(&face{inner: inner}, inner, nil) }

//go:noinline
func dropWith(clean func()) {
	runtime.AddCleanup(&face{}, func(fn func()) { fn() }, clean)
}

// The runtime has a few goroutines for the clean-ups of the whole program: of files and connections, for example.
func TestAnObserverThatBlocksHoldsUpNoCleanUp(t *testing.T) {
	const blocked = 200
	var told atomic.Int64
	release := make(chan struct{})
	defer close(release)
	for range blocked {
		drop(&stuck{told: &told, release: release})
	}
	redistest.Eventually(t, "everybody is told of the drops", func() bool {
		runtime.GC()
		return told.Load() == blocked
	})
	cleaned := make(chan struct{})
	dropWith(func() { close(cleaned) })
	redistest.Eventually(t, "a clean-up of the program runs", func() bool {
		runtime.GC()
		select {
		case <-cleaned:
			return true
		case <-time.After(time.Millisecond):
			return false
		}
	})
	require.EqualValues(t, blocked, told.Load())
}
