package permitsemaphore

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/life"
)

// grace is how long the ids of a Permit may be on their way to a call that takes ids, once the Permit itself
// is unreachable.
const grace = time.Second

// Forgotten is called when the Permit is unreachable. The last use of a Permit may be to say its ids, to
// calls that are under way at that moment or about to begin; so the grant is looked at a while after that, and
// after the last of them.
func (g *grant) Forgotten(there *holds.Place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropped, g.there = true, there
	g.lookLaterLocked()
}

func (g *grant) lookLaterLocked() {
	if g.look == nil {
		g.look = time.AfterFunc(g.semaphore.grace, g.report)
		return
	}
	g.look.Reset(g.semaphore.grace)
}

// report stops the renewal of permits that the program has dropped, unless a call by an id is under way,
// whose end looks at them again. Those that were not renewed may be in use by their ids.
func (g *grant) report() {
	g.mu.Lock()
	if g.calls > 0 || !g.dropped {
		g.mu.Unlock()
		return
	}
	g.dropped = false // once
	there := g.there
	over, renewing := g.overLocked(), g.renewing && len(g.ids) > 0
	g.mu.Unlock()
	if over {
		return
	}
	name, owner := g.semaphore.counter.Name, g.Owner()
	g.EndForgotten(name, owner)
	g.leave()
	if !renewing {
		g.Finish(context.Background(), redlatch.EventLeft, nil)
		return
	}
	g.about().Forgotten("a permit was dropped without Release; it is renewed no longer and ends with its lease", there,
		name, owner)
}

// about is what a log line says of the grant.
func (g *grant) about() life.Of {
	return life.Of{Thing: "permit", Kind: redlatch.KindPermitSemaphore, Logger: g.set.Logger, Holds: []*life.Hold{&g.Hold}}
}

// tell notes that the program is told the ids.
func (g *grant) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shown = true
}

// enter is the beginning of a call by an id, and exit its end.
func (g *grant) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
}

func (g *grant) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.dropped {
		g.lookLaterLocked()
	}
}
