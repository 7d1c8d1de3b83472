package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
)

// A Glance is what "redlatch ls" would have shown of this run at one moment.
type Glance struct {
	When    string         `json:"when"` // in words
	Objects []views.Object `json:"objects"`
}

// afterKill is how long the demo waits after the kill before it looks. By then the other workers have reported that they wait, and the
// lease of the killed worker still runs.
const afterKill = lease / 2

// mostPresences is for how many workers the demo shows the lock that a worker holds for as long as it lives.
const mostPresences = 4

// glance looks once: while a killed worker still holds the lock, or, where no worker is killed, when half of the jobs are done. The table is
// for people. Nothing is judged by it, so an error of the look is left out.
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
	p.saw = &Glance{When: when, Objects: []views.Object{}}
	type object struct {
		kind redlatch.Kind
		name string
	}
	all := []object{{redlatch.KindLock, p.lock()}, {redlatch.KindSemaphore, p.names.semaphore()}, {redlatch.KindLatch, p.names.finish()}}
	for w := 1; w <= min(p.config.Workers, mostPresences); w++ {
		all = append(all, object{redlatch.KindLock, p.presence(w)})
	}
	for _, one := range all {
		v, err := views.Look(ctx, p.client, "", nil, one.kind, one.name)
		if err != nil {
			return
		}
		p.saw.Objects = append(p.saw.Objects, v.Object)
	}
}
