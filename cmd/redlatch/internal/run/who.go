package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	screen "github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/fleet"
)

// someHolders is how many holders are named.
const someHolders = 3

// kind is what is taken, as package fleet calls it.
func (m Mode) kind() redlatch.Kind {
	switch m {
	case Read, Write:
		return redlatch.KindReadWriteLock
	case Permits:
		return redlatch.KindPermitSemaphore
	}
	return redlatch.KindLock
}

// who names the holders of the config's lock, as a part of a sentence: "held by ops-1 redlatch pid 17 (nightly)
// since 12 min, for another 28 s unless renewed". It is empty while the lock is free, or where the holders
// cannot be found out.
func (c *Config) who(ctx context.Context) string {
	object, err := within(ctx, askLimit, func(ctx context.Context) (*fleet.Object, error) {
		return fleet.Get(ctx, c.Client, c.Mode.kind(), c.Name)
	})
	if err != nil || len(object.Holders) == 0 {
		return ""
	}
	now, err := within(ctx, askLimit, func(ctx context.Context) (time.Time, error) { return c.Client.Time(ctx).Result() })
	if err != nil {
		now = time.Now()
	}
	var names []string
	for i, h := range object.Holders {
		if i == someHolders {
			names = append(names, fmt.Sprintf("%d more", len(object.Holders)-i))
			break
		}
		names = append(names, named(h, now))
	}
	text, first := "held by "+strings.Join(names, "; "), object.Holders[0]
	switch {
	case len(object.Holders) > 1 || first.TTL <= 0:
	case first.Kept, first.Client != nil && first.Client.Ended:
		done := "has ended"
		if first.Kept {
			done = "has given it back"
		}
		text = "kept by WithAtLeast for another " + views.Age(first.TTL) + "; it was held by " + screen.Clean(first.Who()) + ", which " + done
	default:
		text += ", for another " + views.Age(first.TTL) + " unless renewed"
	}
	return text
}

// named is one of them.
func named(h fleet.Holder, now time.Time) string {
	text := screen.Clean(h.Who())
	if !h.Since.IsZero() {
		text += " since " + views.Age(now.Sub(h.Since))
	}
	if h.Client != nil && h.Client.Silent() {
		text += " (last seen " + views.Age(h.Client.LastSeen) + " ago, probably dead)"
	}
	return text
}

// A busyError is that of a lock that is taken, whatever exit code the user has chosen for it.
type busyError struct{ error }

func (b *busyError) Unwrap() error { return b.error }

// busy is the error of a lock that is taken.
func (c *Config) busy(ctx context.Context, err error) error {
	if c.silent() && c.Result == "" {
		return &busyError{err}
	}
	text := screen.Quote(c.Name) + " is taken"
	if c.Wait > 0 && !c.Once {
		text += fmt.Sprintf(", and the wait of %v is over", c.Wait)
	}
	who := c.who(ctx)
	if who == "" {
		who = strings.TrimPrefix(err.Error(), "redlatch: ")
	}
	return &busyError{fmt.Errorf("%s: %s", text, who)}
}

// silent tells whether nothing is said of a lock that is taken. A run that does not wait finds it so every night, and a line of a cron
// job is a mail.
func (c *Config) silent() bool {
	return c.Quiet || (c.Once || c.Wait == 0) && !c.Watched
}

const (
	tellAfter = 2 * time.Second // of waiting, or of an outage
	pingEvery = 5 * time.Second
	tellEvery = time.Minute // at most, what has changed since
)

// tell says after some time what a run waits for: who holds it, or why the server does not answer; and then when the one becomes the
// other. It returns when ctx ends.
func (c *Config) tell(ctx context.Context) {
	told, last := "", time.Time{}
	for pause := tellAfter; ; pause = pingEvery {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		state, text := "up", ""
		if err := c.ping(ctx); err != nil {
			state, text = "down", c.unanswered(err)+"; it is tried again"
		}
		if state == told || !last.IsZero() && time.Since(last) < tellEvery {
			continue
		}
		if state == "up" {
			text = cmp.Or(c.who(ctx), "held by nobody just now")
			if told != "" {
				text = c.Server + " answers again; " + text
			}
		}
		if ctx.Err() != nil {
			return
		}
		c.Complain("waiting for %s: %s", screen.Quote(c.Name), text)
		told, last = state, time.Now()
	}
}

func (c *Config) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return connect.Ping(ctx, c.Client)
}

// unanswered says what is wrong with the server, and where that is.
func (c *Config) unanswered(err error) string {
	text := screen.Clean(strings.TrimPrefix(err.Error(), "redlatch: "))
	if strings.Contains(text, c.Server) {
		return text
	}
	return c.Server + ": " + text
}
