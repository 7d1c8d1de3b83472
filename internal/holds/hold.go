// Package holds is the leaf on which both the public Hold and the machinery behind it stand: what a hold can
// do, how its end reaches the contexts made from it, and how a context carries it to a second acquisition.
package holds

import (
	"context"
	"log/slog"
	"strconv"
	"time"
)

// A Hold is the machinery's side of one acquisition. The public Hold is a thin wrapper around it, so that the
// machinery never keeps the wrapper alive and notices when the program has dropped it.
type Hold interface {
	Unlock(ctx context.Context) error
	Extend(ctx context.Context, lease time.Duration) error
	Object() (primitive, name string) // of which it is a hold: "lock", "orders:42"; the first is a label
	Owner() string
	Token() int64
	Until() time.Time
	Ending() *Ending
	// Leave ends the hold without a command: the lock ends with its lease.
	Leave()
	// Forgotten is called when the wrapper, and every context made from it, is unreachable without an Unlock.
	// The lock was acquired there.
	Forgotten(there *Place)
}

// A Composite is a hold of several locks. A context that carries it re-enters each of them.
type Composite interface {
	Hold

	// Members are the holds that it stands on and that are in force, in the order in which they were acquired. A
	// composite that is over has none.
	Members() []Hold
}

// LogValue is a hold in a line of slog.
func LogValue(h Hold) slog.Value {
	primitive, name := h.Object()
	attrs := []slog.Attr{slog.String("name", name), slog.String("primitive", primitive)}
	if owner := h.Owner(); owner != "" {
		attrs = append(attrs, slog.String("owner", owner))
	}
	if token := h.Token(); token != 0 {
		attrs = append(attrs, slog.Int64("token", token))
	}
	return slog.GroupValue(append(attrs, slog.Time("until", h.Until()))...)
}

// A Member is one of the holds that a composite stands on.
type Member struct {
	Name   string // for error texts
	Server bool   // that is one of a server, and not of a lock
	Hold
}

func (m Member) String() string {
	if m.Server {
		return "server " + m.Name
	}
	return strconv.Quote(m.Name)
}
