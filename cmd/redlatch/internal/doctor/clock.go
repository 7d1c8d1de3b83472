package doctor

import (
	"context"
	"time"
)

var clockChecks = []*Check{
	{
		ID: "clock-step", Level: Error, Page: "guarantees.md",
		Means: "The server's clock does not run as fast as this machine's, or was set meanwhile: leases end too early or too late.",
		Do:    "Let NTP or chrony slew the server's clock instead of setting it, and look at the virtual machine's time source.",
		look: func(ctx context.Context, n *node) answer {
			d, err := n.clock(ctx)
			if err != nil {
				return isUnknown(err)
			}
			limit := max(stepLimit, d.window/100) + d.doubt
			return foundIf(d.step.Abs() > limit, "off by %v after %v", d.step.Round(time.Millisecond), d.window.Round(time.Second/10))
		},
	},
	{
		ID: "clock-offset", Level: Info, Page: "guarantees.md",
		Means: "The clocks of the server and of this machine differ by more than a second. Leases do not depend on that.",
		Do:    "Nothing for the locks; set the clocks by NTP, so that times in logs and views can be compared.",
		look: func(ctx context.Context, n *node) answer {
			d, err := n.clock(ctx)
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(d.offset.Abs() > offsetLimit+d.doubt, "the server's is %v ahead", d.offset.Round(time.Millisecond))
		},
	},
}

const (
	stepLimit   = 50 * time.Millisecond // one percent of the default window; less cannot be told from a busy machine
	offsetLimit = time.Second
)

// A drift is how a server's clock behaved against ours.
type drift struct {
	window time.Duration // between the two looks, by our clock
	step   time.Duration // how much more went by on the server's
	offset time.Duration // how far ahead it is
	doubt  time.Duration // by how much these may be wrong: the round trips
}

func (n *node) clock(ctx context.Context) (drift, error) {
	return n.clocks.of(func() (drift, error) {
		first, err := n.glance(ctx)
		if err != nil {
			return drift{}, err
		}
		select {
		case <-ctx.Done():
			return drift{}, ctx.Err()
		case <-time.After(n.Window):
		}
		second, err := n.glance(ctx)
		if err != nil {
			return drift{}, err
		}
		d := drift{window: second.at.Sub(first.at), offset: second.server.Sub(second.at.Round(0)), doubt: first.doubt + second.doubt}
		d.step = second.server.Sub(first.server) - d.window
		return d, nil
	})
}

// A glance is one look at a server's clock.
type glance struct {
	at     time.Time // ours, in the middle of the round trip
	server time.Time
	doubt  time.Duration // half of the round trip
}

// glance takes the quickest of three looks.
func (n *node) glance(ctx context.Context) (best glance, err error) {
	for i := range 3 {
		sent := time.Now()
		server, err := n.client.Time(ctx).Result()
		if err != nil {
			return glance{}, needing("TIME", err)
		}
		half := time.Since(sent) / 2
		if i == 0 || half < best.doubt {
			best = glance{at: sent.Add(half), server: server, doubt: half}
		}
	}
	return best, nil
}
