package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/fleet"
)

const inspectHelp = `Shows who holds NAME, who waits for it in which order, what clients say and Redis does not, and what to do next.

A name that nobody holds is no failure: Redis keeps nothing of a lock that is free, so it cannot be told from a name that
never was. Exit code 65 means that the name is something else than --kind says, or a number of which nothing tells whether
it is a semaphore, a latch or another program's.`

type inspectCommand struct {
	Watch    bool              `help:"Look again and again, until q or Ctrl-C."`
	Every    duration.Duration `default:"2s" placeholder:"D" help:"With --watch: how often (${default})."`
	Kind     string            `placeholder:"KIND" help:"What NAME is: lock, fair_lock, semaphore, latch, ... or the name of the package. Default: what Redis has there."`
	Registry string            `placeholder:"PREFIX" help:"Read the registry of programs that have WithRegistry(PREFIX)."`

	Name string `arg:"" help:"Name of the lock, semaphore or latch."`
}

// Help is the text below the flags.
func (*inspectCommand) Help() string { return inspectHelp }

// Run shows one object.
func (i *inspectCommand) Run(c call) error {
	kind, err := fleet.ParseKind(i.Kind)
	if err != nil {
		return err
	}
	every, err := interval(i.Every)
	if err != nil {
		return err
	}
	if !i.Watch {
		every = 0
	}
	return c.viewing(every, func(client redis.UniversalClient) view {
		hurry := hurried(client, i.Registry, every)
		return func(ctx context.Context) (frame, error) {
			for again := every == 0 && c.Output == "table"; ; again = false { // a program looks as often as it wants to
				v, err := views.Look(ctx, client, c.Connect.Where(), hurry, kind, i.Name, fleet.WithRegistry(i.Registry))
				if err != nil {
					return nil, ofKind(err)
				}
				if !again || !v.Object.Nameless() || !pause(ctx, views.Soon) {
					return v, nil
				}
			}
		}
	})
}
