package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/keys"
)

var lockChecks = []*Check{
	{
		ID: "lock-without-ttl", Level: Error, Page: "guarantees.md",
		Means: "A lock has no TTL, so it stays taken for ever if its holder dies.",
		Do:    "Find out who removed its TTL (PERSIST, a copy or a restore of the key); if nobody holds it, delete the key.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.amongObjects(ctx, func(o *fleet.Object) (found []string) {
				if o.Info.Exists && o.Info.TTL < 0 && !slices.Contains([]redlatch.Kind{redlatch.KindSemaphore, redlatch.KindPermitSemaphore, redlatch.KindLatch}, o.Kind) {
					found = append(found, fmt.Sprintf("%s %s", o.Kind.Noun(), terminal.Quote(o.Key)))
				}
				return found
			})
		},
	},
	{
		ID: "holder-silent", Level: Warn, Page: "guarantees.md",
		Means: "A lock is still taken, and its holder's process has not reported for longer than the lock lasts without it.",
		Do:    "Look whether the process lives: if so, why its reports do not come; if not, wait for the lease or free the lock by force.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.amongObjects(ctx, func(o *fleet.Object) (found []string) {
				for _, h := range o.Holders {
					c := h.Client
					if o.Kind != redlatch.KindPermitSemaphore && c != nil && c.Silent() && c.LastSeen > c.Timeout && h.TTL > 0 {
						found = append(found, fmt.Sprintf("%s %s, by %s, not seen for %v", o.Kind.Noun(), terminal.Quote(o.Key), terminal.Clean(h.Who()),
							c.LastSeen.Round(time.Second)))
					}
				}
				return found
			})
		},
	},
	{
		ID: "permits-of-dead", Level: Warn, Page: "guarantees.md",
		Means: "Permits without expiry belong to a process that has not reported for long; if it is dead, they never come back.",
		Do:    "If the process is dead, give the permits back in its place; take permits of a permitsemaphore with a lease.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.amongObjects(ctx, func(o *fleet.Object) (found []string) {
				for _, h := range o.Holders {
					if o.Kind == redlatch.KindPermitSemaphore && h.Client != nil && h.Client.Silent() && h.TTL < 0 {
						found = append(found, fmt.Sprintf("one of %s, of %s", terminal.Quote(o.Key), terminal.Clean(h.Who())))
					}
				}
				for _, c := range o.Unconfirmed {
					if o.Kind == redlatch.KindSemaphore && c.Client.Silent() {
						found = append(found, fmt.Sprintf("%d of %s, of %s", c.Holds, terminal.Quote(o.Key), terminal.Clean(c.Who())))
					}
				}
				return found
			})
		},
	},
	{
		ID: "twin-names", Level: Error, Page: "choosing.md#names",
		Means: "Two objects of one kind are called n and {n}. Redisson gives these the same helper keys, so the one adds up, removes or waits for what is the other's.",
		Do:    "Give one of them another name, in all programs.",
		whole: func(ctx context.Context, p *patient) answer { return p.amongAll(ctx, twins) },
	},
}

// entangled are the kinds that have a helper key whose name is the same for n and {n}. So has a fenced lock, but a counter of tokens that
// two locks share grows for both.
var entangled = []redlatch.Kind{redlatch.KindFairLock, redlatch.KindPermitSemaphore, redlatch.KindReadWriteLock}

// twins are the pairs of objects whose names differ by one pair of braces.
func twins(all []*fleet.Object) (found []string) {
	kinds := map[string]redlatch.Kind{}
	for _, o := range all {
		kinds[o.Key] = o.Kind
	}
	for _, o := range all {
		twin := keys.Tag(o.Key)
		if twin != o.Key && kinds[twin] == o.Kind && slices.Contains(entangled, o.Kind) {
			found = append(found, fmt.Sprintf("%s %s and %s", o.Kind.Noun(), terminal.Quote(o.Key), terminal.Quote(twin)))
		}
	}
	return found
}
