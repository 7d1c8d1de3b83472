package redlatch

import (
	"log/slog"
	"time"
)

// A HeldBy is one who holds what a call waits for, as an [EventSlowWait] tells of it. What is beside the
// Holder is what the holder's client has said of itself in the registry some seconds ago: a hint, empty where
// it has said nothing. Texts are valid UTF-8 without control characters, and short.
type HeldBy struct {
	Holder        // its Since is by the registry, where only its own client knows
	Member string // of a composite: the member that is held, as Inspect names it

	Host    string    // where its process runs
	PID     int       // of its process
	Program string    // the base name of the executable
	Label   string    // see [WithLabel]
	Seen    time.Time // when the client reported last; zero if it has not, or is the one that asks
}

// LogValue is the holder in a line of slog: a group of what is known.
func (h HeldBy) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("owner", h.Owner)}
	add := func(known bool, attr slog.Attr) {
		if known {
			attrs = append(attrs, attr)
		}
	}
	ago := func(then time.Time) time.Duration { return time.Since(then).Round(time.Millisecond) }
	add(h.Host != "", slog.String("host", h.Host))
	add(h.PID != 0, slog.Int("pid", h.PID))
	add(h.Program != "", slog.String("program", h.Program))
	add(h.Label != "", slog.String("label", h.Label))
	add(!h.Since.IsZero(), slog.Duration("held", ago(h.Since)))
	add(!h.Seen.IsZero(), slog.Duration("seen", ago(h.Seen)))
	add(h.Member != "", slog.String("member", h.Member))
	add(h.Side != "", slog.String("side", h.Side))
	add(h.Value != "", slog.String("value", h.Value))
	add(h.Own, slog.Bool("own", true))
	return slog.GroupValue(attrs...)
}
