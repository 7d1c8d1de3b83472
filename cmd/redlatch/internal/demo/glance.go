package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/fleet"
)

// A Glance is what "redlatch ls" would have shown of this run at one moment.
type Glance struct {
	When    string // in words
	Objects []views.Object
}

// afterKill is when it is looked after the kill: the clients have reported who waits, and the dead worker's lease is not over.
const afterKill = lease / 2

// mostPresences is of how many workers it shows the locks that they hold all their lives.
const mostPresences = 4

// glance looks once: while a dead worker holds the lock, or if none is killed when half of the jobs are done. What it cannot see is
// left out: it is for people, and judges nothing.
func (p *parent) glance(ctx context.Context) {
	when := ""
	switch {
	case p.saw != nil:
		return
	case !p.killed.IsZero() && time.Since(p.killed) >= afterKill:
		when = fmt.Sprintf("%.1f s after the kill", time.Since(p.killed).Seconds())
	case !p.config.Kill && p.story.status.Done*2 >= p.config.Jobs:
		when = "when half of the jobs were done"
	default:
		return
	}
	p.saw = &Glance{When: when}
	type object struct {
		kind fleet.Kind
		name string
	}
	all := []object{{fleet.Lock, p.lock()}, {fleet.Semaphore, p.names.semaphore()}, {fleet.Latch, p.names.finish()}}
	for w := 1; w <= min(p.config.Workers, mostPresences); w++ {
		all = append(all, object{fleet.Lock, p.presence(w)})
	}
	for _, one := range all {
		v, err := views.Look(ctx, p.client, "", one.kind, one.name)
		if err != nil {
			return
		}
		p.saw.Objects = append(p.saw.Objects, v.Object)
	}
}
