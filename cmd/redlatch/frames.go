package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
)

// patience is how long a server may take for its first answer.
const patience = 10 * time.Second

// A frame is what a command has found out at one moment. It is a document too.
type frame interface {
	Lines(out *terminal.Output) []string
}

// A view takes a frame.
type view func(ctx context.Context) (frame, error)

// viewing opens the connection and shows the view that make returns: once, or again and again until Ctrl-C, which then is no
// failure.
func (c call) viewing(every time.Duration, make func(client redis.UniversalClient) view) error {
	ctx, client, done, err := c.open()
	if err != nil {
		return err
	}
	defer done()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := connect.Ping(limited, client); err != nil {
		return interruption(ctx, fmt.Errorf("%s: %w", c.Connect.Where(), err))
	}
	view := make(client)
	look := func(ctx context.Context) (frame, error) {
		if err := connect.UpToDate(ctx, client); err != nil { // a server may become a replica while it is looked at
			return nil, fmt.Errorf("%s: %w", c.Connect.Where(), err)
		}
		return view(ctx)
	}
	first, err := taken(ctx, look)
	if err != nil {
		return err
	}
	out := terminal.To(c.stdout)
	switch {
	case every == 0:
		return c.print(out, first, true)
	case out.Live && c.Output == "table":
		c.animate(ctx, out, first, every, look)
		return nil
	}
	for f, err := first, error(nil); ; {
		if err == nil {
			err = c.print(out, f, false)
		}
		if err != nil {
			return err
		}
		if !pause(ctx, every) {
			return nil
		}
		if f, err = taken(ctx, look); ctx.Err() != nil {
			return nil
		}
	}
}

// taken is a frame, or the end of ctx, which the client does not look at while it waits for an answer.
func taken(ctx context.Context, look view) (frame, error) {
	type result struct {
		frame frame
		err   error
	}
	answer := make(chan result, 1)
	go func() {
		f, err := look(ctx)
		answer <- result{f, err}
	}()
	select {
	case r := <-answer:
		return r.frame, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pause waits, and tells whether it is to go on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// print shows a frame: as lines, with an empty one behind each of several, or as a document, of which several have a line each.
func (c call) print(out *terminal.Output, f frame, only bool) error {
	if c.Output == "json" {
		text, err := views.JSON(f, only)
		if err != nil {
			return err
		}
		_, err = c.stdout.Write(text)
		return err
	}
	text := strings.Join(f.Lines(out), "\n") + "\n"
	if !only {
		text += "\n"
	}
	_, err := c.stdout.Write([]byte(text))
	return err
}

// animate draws frames over one another until Ctrl-C or q. A server that does not answer leaves the last frame, under a line that
// says so.
func (c call) animate(ctx context.Context, out *terminal.Output, f frame, every time.Duration, look view) {
	screen, ctx := terminal.Open(ctx, out, c.stdin)
	defer screen.Close()
	trouble := ""
	for {
		out.Measure()
		lines := f.Lines(out)
		if trouble != "" {
			lines = append([]string{out.Paint(terminal.Red, terminal.Cut(terminal.Clean(trouble), out.Width))}, lines...)
		}
		screen.Draw(lines)
		if !pause(ctx, every) {
			return
		}
		next, err := taken(ctx, look)
		if trouble = ""; err != nil {
			trouble = err.Error()
		} else {
			f = next
		}
	}
}
