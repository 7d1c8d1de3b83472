package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/countdownlatch"
)

// latchDocument is what -o json prints of a latch.
type latchDocument struct {
	Schema string `json:"schema"`
	views.Name
	Count int64 `json:"count"` // what is left; 0 when the latch is open
	Open  bool  `json:"open"`
}

const latchSchema = "redlatch.latch/1"

func (c call) showLatch(name string, count int64) error {
	if c.Output == "json" {
		return c.document(latchDocument{latchSchema, views.NameOf(name), count, count == 0})
	}
	text := "open"
	if count > 0 {
		text = strconv.FormatInt(count, 10) + " to go"
	}
	return c.say("%s: %s", terminal.Quote(name), text)
}

const waitHelp = `Waits until a latch is open: until as many calls of "redlatch countdown", or of a program's CountDown, were made as it was
set to. The exit code is 0 if it was counted down, also if that was before. It is 75 if it is still closed when --wait is
over, and 1 if the latch was deleted, ran out, or was never set.`

type waitCommand struct {
	Name string           `arg:"" help:"Name of the latch."`
	Wait duration.Seconds `short:"w" default:"-1" placeholder:"SECONDS" help:"Give up after this time: 10, 0.5 or 2m. Without it there is no limit."`
}

// Help is the text below the flags.
func (*waitCommand) Help() string { return waitHelp }

// Run waits.
func (w *waitCommand) Run(c call) error {
	ctx, client, done, err := c.open()
	if err != nil {
		return err
	}
	defer done()
	var opts []redlatch.Option
	if w.Wait >= 0 {
		opts = append(opts, redlatch.WithWait(time.Duration(w.Wait)))
	}
	err = countdownlatch.New(client, w.Name).Await(ctx, opts...)
	if errors.Is(err, countdownlatch.ErrNotSet) {
		return exit.With(exit.Failed, fmt.Errorf("latch %s was never set, or has been over for more than a day; \"redlatch countdown %s --set N\" sets it, before anybody waits",
			terminal.Quote(w.Name), terminal.Word(w.Name)))
	}
	if err != nil {
		return interruption(ctx, err)
	}
	return c.showLatch(w.Name, 0)
}

const countdownHelp = `Counts a latch down by one, and prints what is left. With --set it sets the count instead, of a latch that is not there or
open; that is done once, before those start who count. A latch that is not there, or open, cannot be counted down: the exit
code is 1.`

type countdownCommand struct {
	Name string             `arg:"" help:"Name of the latch."`
	Set  *int64             `placeholder:"N" xor:"what" help:"Set the count to N. The exit code is 1 if it is set already."`
	TTL  *duration.Duration `name:"ttl" placeholder:"D" help:"With --set: the latch runs out after this time, such as 2h."`
	Show bool               `xor:"what" help:"Print what is left, and count nothing."`
}

// Help is the text below the flags.
func (*countdownCommand) Help() string { return countdownHelp }

// Validate refuses flags that do not go together.
func (d *countdownCommand) Validate() error {
	switch {
	case d.Set != nil && *d.Set < 1:
		return errors.New("--set: a latch counts down from at least 1")
	case d.TTL != nil && d.Set == nil:
		return errors.New("--ttl goes with --set")
	case d.TTL != nil && *d.TTL <= 0:
		return errors.New("--ttl: give a time greater than 0, or leave it out")
	}
	return nil
}

// Run counts down.
func (d *countdownCommand) Run(c call) error {
	ctx, client, done, err := c.open()
	if err != nil {
		return err
	}
	defer done()
	latch := countdownlatch.New(client, d.Name)
	left, err := latch.Count(ctx)
	switch {
	case err != nil:
		return interruption(ctx, err)
	case d.Show:
		return c.showLatch(d.Name, left)
	case d.Set != nil:
		var opts []redlatch.Option
		if d.TTL != nil {
			opts = append(opts, redlatch.WithTTL(time.Duration(*d.TTL)))
		}
		set, err := latch.TrySetCount(ctx, *d.Set, opts...)
		if err == nil && !set {
			return exit.With(exit.Failed, fmt.Errorf("latch %s is set already, with %d to go", terminal.Quote(d.Name), left))
		}
		if err != nil {
			return interruption(ctx, err)
		}
		return c.showLatch(d.Name, *d.Set)
	case left == 0:
		return exit.With(exit.Failed, fmt.Errorf("latch %s is open, or was never set; nothing was counted", terminal.Quote(d.Name)))
	}
	if err := latch.CountDown(ctx); err != nil {
		return err
	}
	if left, err = latch.Count(ctx); err != nil {
		return fmt.Errorf("it was counted down, but what is left is not known: %w", err)
	}
	return c.showLatch(d.Name, left)
}
