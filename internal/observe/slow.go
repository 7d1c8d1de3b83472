package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
)

// A Subject is what calls wait for, as far as it can be asked.
type Subject interface {
	// Look asks who holds it.
	Look(ctx context.Context) (redlatch.Info, error)

	// Sessions are those of the clients that it belongs to: of a composite in the order of its members, one of
	// which may be nil.
	Sessions() []*session.Session

	// Itself is what all calls that wait for it have in common. It can be compared.
	Itself() any
}

// errUnasked is told by the brief alarms.
var errUnasked = fmt.Errorf("redlatch: Redis was not asked who holds it, because this client has asked %d times "+
	"in this minute", most)

// watch has the observer and the log know if the call waits for longer than limit.
func (c *Call) watch(limit time.Duration) {
	ctx, observer, start, e := c.Context, c.observer, c.start, c.event
	e.Kind = redlatch.EventSlowWait
	c.slow = (&alarm{of: c.of, event: e, logger: c.logger, others: "redlatch: calls wait for long for further " +
		"names, which have no line each",
		ring: func(asking context.Context, a *alarm, whole bool) {
			e := a.event
			if !whole {
				e.Duration, e.Err = time.Since(start), errUnasked
				Tell(ctx, observer, a.logger, e)
				return
			}
			var found answer
			raise.Here(func() { found = ask(asking, a.of) },
				func(p *raise.Panic) { found = answer{failures: []error{unasked(p)}} })
			if a.stopped() || ctx.Err() != nil { // with ctx the question has ended, and the call is about to
				lately.forget(a.topic())
				return
			}
			e.Duration, e.Holders, e.Left, e.Err = time.Since(start), found.holders, found.left,
				errors.Join(found.failures...)
			if len(found.holders) > 0 {
				e.Owner, e.Token = found.holders[0].Owner, found.holders[0].Token
			}
			if a.logger != nil {
				a.logger.LogAttrs(ctx, slog.LevelWarn, "redlatch: a call waits for long", found.attributes(e)...)
			}
			Tell(ctx, observer, a.logger, e)
		}}).after(ctx, limit)
}

// mostNamed is how many holders a slow wait is told of.
const mostNamed = 8

// An answer is what was found out about who holds something.
type answer struct {
	holders  []redlatch.HeldBy
	more     int // holders beyond these
	left     int64
	failures []error
	deaf     []*session.Session // whose registry could not be asked: it is not asked about the other holders
}

// ask finds out who holds a subject, and who that is.
func ask(ctx context.Context, of Subject) (found answer) {
	info, err := of.Look(ctx)
	if err != nil {
		found.failures = append(found.failures, unasked(err))
		return found
	}
	found.left = info.Value
	found.add(ctx, &info, "", of.Sessions())
	return found
}

func unasked(err error) error { return fmt.Errorf("it could not be asked: %w", err) }

// add adds the holders of a member, or of what is none.
func (f *answer) add(ctx context.Context, info *redlatch.Info, member string, sessions []*session.Session) {
	for i := range info.Members {
		m := &info.Members[i]
		if m.Err != nil {
			f.failures = append(f.failures, fmt.Errorf("%s could not be asked: %w", m.Name, m.Err))
			continue
		}
		f.add(ctx, &m.Info, m.Name, sessions[min(i, len(sessions)):min(i+1, len(sessions))])
	}
	for _, h := range info.Holders {
		if len(f.holders) == mostNamed {
			f.more++
			continue
		}
		by := redlatch.HeldBy{Holder: h, Member: member}
		if len(sessions) > 0 && sessions[0] != nil && !slices.Contains(f.deaf, sessions[0]) {
			f.name(ctx, &by, info, sessions[0])
		}
		f.holders = append(f.holders, by)
	}
}

// name adds who the holder is, as far as its client has said so.
func (f *answer) name(ctx context.Context, by *redlatch.HeldBy, info *redlatch.Info, s *session.Session) {
	kind := info.Kind
	if by.Side != "" {
		kind = redlatch.Kind(by.Side + "_lock")
	}
	said, err := listing.Ask(ctx, s, string(kind), info.Key, by.Owner)
	if err != nil {
		f.failures, f.deaf = append(f.failures, err), append(f.deaf, s)
		return
	}
	by.Host, by.PID, by.Program, by.Label, by.Seen = said.Host, said.PID, said.Program, said.Label, said.Seen
	if by.Since.IsZero() {
		by.Since = said.Since
	}
}

// attributes are those of the line.
func (f *answer) attributes(e redlatch.Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("lock.name", e.Name), slog.String("lock.primitive", string(e.Primitive)),
		slog.Duration("lock.waited", e.Duration.Round(time.Millisecond))}
	counts := e.Permits > 0 || e.Left > 0
	if e.Permits > 0 {
		attrs = append(attrs, slog.Int64("lock.wanted", e.Permits))
	}
	if counts && len(f.failures) == 0 {
		attrs = append(attrs, slog.Int64("lock.left", e.Left))
	}
	switch {
	case len(f.holders) > 0:
		attrs = append(attrs, slog.Any("holder", f.holders[0]))
		if others := len(f.holders) - 1 + f.more; others > 0 {
			attrs = append(attrs, slog.Int("others", others))
		}
	case !counts && len(f.failures) == 0:
		attrs = append(attrs, slog.String("holder", "nobody"))
	}
	for _, err := range f.failures {
		attrs = append(attrs, slog.Any("error", err))
	}
	return attrs
}
