package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/fleet"
)

var lockChecks = []*Check{
	{
		ID: "lock-without-ttl", Level: Error, Page: "guarantees.md",
		Means: "A lock has no TTL, so it stays taken for ever if its holder dies.",
		Do:    "Find out who removed its TTL (PERSIST, a copy or a restore of the key); if nobody holds it, delete the key.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.among(ctx, func(r *fleet.Report) (found []string) {
				for _, o := range r.Objects {
					if o.Info.Exists && o.Info.TTL < 0 && !slices.Contains([]fleet.Kind{fleet.Semaphore, fleet.PermitSemaphore, fleet.Latch}, o.Kind) {
						found = append(found, fmt.Sprintf("%s %s", o.Kind, strconv.Quote(o.Key)))
					}
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
			return p.among(ctx, func(r *fleet.Report) (found []string) {
				for _, o := range r.Objects {
					for _, h := range o.Holders {
						c := h.Client
						if o.Kind != fleet.PermitSemaphore && c != nil && c.Silent() && c.LastSeen > c.Timeout && h.TTL > 0 {
							found = append(found, fmt.Sprintf("%s %s, by %s, not seen for %v", o.Kind, strconv.Quote(o.Key), oneLine(h.Who()),
								c.LastSeen.Round(time.Second)))
						}
					}
				}
				return found
			})
		},
	},
	{
		ID: "permits-of-dead", Level: Warn, Page: "guarantees.md",
		Means: "Permits without a lease belong to a process that has not reported for long; if it is dead, they never come back.",
		Do:    "If the process is dead, give the permits back in its place; take permits of a permitsemaphore with a lease.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.among(ctx, func(r *fleet.Report) (found []string) {
				for _, o := range r.Objects {
					for _, h := range o.Holders {
						if o.Kind == fleet.PermitSemaphore && h.Client != nil && h.Client.Silent() && h.TTL < 0 {
							found = append(found, fmt.Sprintf("one of %s, of %s", strconv.Quote(o.Key), oneLine(h.Who())))
						}
					}
					for _, c := range o.Unconfirmed {
						if o.Kind == fleet.Semaphore && c.Client.Silent() {
							found = append(found, fmt.Sprintf("%d of %s, of %s", c.Holds, strconv.Quote(o.Key), oneLine(c.Who())))
						}
					}
				}
				return found
			})
		},
	},
}

// mostNamed is how many locks a finding names.
const mostNamed = 5

// among looks for something in the list of all objects, which is made once.
func (p *patient) among(ctx context.Context, look func(*fleet.Report) []string) answer {
	r, err := p.list.of(func() (*fleet.Report, error) { return p.listed(ctx) })
	if err != nil {
		return isUnknown(err)
	}
	all := look(r)
	switch {
	case len(all) > mostNamed:
		return isFound("%s, and %d more", strings.Join(all[:mostNamed], "; "), len(all)-mostNamed)
	case len(all) > 0:
		return isFound("%s", strings.Join(all, "; "))
	case r.Missing() != "":
		return answer{unknown, r.Missing()}
	case len(r.Unreadable) > 0:
		return answer{unknown, "some could not be read: " + oneLine(r.Unreadable[0].String())}
	default:
		return isFine()
	}
}

func (p *patient) listed(ctx context.Context) (*fleet.Report, error) {
	for _, n := range p.nodes {
		if n.up != nil {
			return nil, errors.New("a server does not execute commands")
		}
	}
	return fleet.List(ctx, p.client)
}
