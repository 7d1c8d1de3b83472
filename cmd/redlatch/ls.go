package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/fleet"
)

const lsHelp = `Lists locks, semaphores and latches that are held, waited for, or named by a client in the registry. Those for which
somebody waits come first, the longest wait at the top.

  redlatch ls                      once
  redlatch ls orders               those of which the name contains it; 'orders:*' is the whole name
  redlatch ls --dead               what processes hold that are probably dead
  redlatch ls --waiting --watch    what calls wait for, again every two seconds, until q or Ctrl-C
  redlatch ls -o json              as the document redlatch.ls/1

It goes through all keys of the server only if there are 100 000 at most, or with --scan, which takes a twentieth of the
server's time. A line below the table tells what was not looked at. With --watch
the clients report every second, as with top. Names that a terminal would obey are in quotes.`

type lsCommand struct {
	Pattern  string            `arg:"" optional:"" help:"What the names contain, or the whole name with * and ?."`
	Dead     bool              `help:"Only what processes hold, or said to wait for, that are probably dead."`
	Waiting  bool              `help:"Only what calls wait for."`
	Host     string            `placeholder:"HOST" help:"Only what processes of this host hold or wait for."`
	Scan     bool              `help:"Go through all keys, however many there are."`
	Watch    bool              `help:"Look again and again."`
	Every    duration.Duration `default:"2s" placeholder:"D" help:"With --watch: how often (${default})."`
	Registry string            `placeholder:"PREFIX" help:"Read the registry of programs that have WithRegistry(PREFIX)."`
}

// Help is the text below the flags.
func (*lsCommand) Help() string { return lsHelp }

// Run lists.
func (l *lsCommand) Run(c call) error {
	options := []fleet.Option{fleet.WithRegistry(l.Registry)}
	if l.Scan {
		options = append(options, fleet.WithScan())
	}
	every, err := interval(l.Every)
	if err != nil {
		return err
	}
	if !l.Watch {
		every = 0
	}
	return c.viewing(every, func(client redis.UniversalClient) view {
		hurry := hurried(client, l.Registry, every)
		return func(ctx context.Context) (frame, error) {
			for again := l.Waiting && every == 0 && c.Output == "table"; ; again = false {
				list, err := views.List(ctx, client, c.Connect.Where(), hurry, options...)
				if err != nil {
					return nil, err
				}
				views.Filter{Pattern: l.Pattern, Dead: l.Dead, Waiting: l.Waiting, Host: l.Host}.Apply(list)
				if !again || !list.Nameless() || !pause(ctx, views.Soon) {
					return list, nil
				}
			}
		}
	})
}
