package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/fleet"
)

const topHelp = `Shows what is waited for most, and draws it again every second, until q or Ctrl-C. Where the output is no terminal the
frames follow one another.

CONTENTION is for how many seconds calls wait in one second: 3 means that three wait at any time. It comes from what the
clients report, and is complete from the second report on; until then, and with --once, it is the number of calls that wait
now. Clients report every five seconds or less often. While frames follow one another in less than that they report every
second, from their next report on, and less often where there are more than a thousand clients. The user needs the right to
write to redlatch_client_watched:* for that.`

type topCommand struct {
	Once     bool              `help:"Show one frame."`
	Every    duration.Duration `default:"1s" placeholder:"D" help:"How often (${default})."`
	Registry string            `placeholder:"PREFIX" help:"Read the registry of programs that have WithRegistry(PREFIX)."`
}

// Help is the text below the flags.
func (*topCommand) Help() string { return topHelp }

// Run shows frames.
func (t *topCommand) Run(c call) error {
	every, err := interval(t.Every)
	if err != nil {
		return err
	}
	if t.Once {
		every = 0
	}
	return c.viewing(every, func(client redis.UniversalClient) view {
		watch := &views.Watch{
			Client: client, Server: c.Connect.Where(), Options: []fleet.Option{fleet.WithRegistry(t.Registry)},
			Hurry: hurried(client, t.Registry, every),
		}
		return func(ctx context.Context) (frame, error) { return watch.Frame(ctx) }
	})
}

// unwatched is the shortest time between two reports of a client while nobody looks. Frames that are at least so far apart have new
// figures without any help.
const unwatched = 5 * time.Second

// hurried has the clients report every second for frames that follow one another in less than unwatched; for others, and for a single
// one, it is nil.
func hurried(client redis.UniversalClient, registry string, every time.Duration) *views.Hurry {
	if every == 0 || every >= unwatched {
		return nil
	}
	return &views.Hurry{Client: client, Registry: registry}
}

// shortest is how often a server is asked at most.
const shortest = 100 * time.Millisecond

// interval reads --every.
func interval(every duration.Duration) (time.Duration, error) {
	if time.Duration(every) < shortest {
		return 0, exit.With(exit.Usage, fmt.Errorf("--every %v: give %v or more", time.Duration(every), shortest))
	}
	return time.Duration(every), nil
}
