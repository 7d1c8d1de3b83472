package listing

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/scripts/entry"
	"github.com/redlatch/redlatch/internal/session"
)

// A Said is what a client has said in the registry of itself, and of one of its holds.
type Said struct {
	registry.About
	Seen  time.Time // when it reported last; zero if it has not
	Since time.Time // since when it has the hold; zero if it has not said so
}

// Ask asks the registry who the owner of a thing is, of this kind and key. What is not known there is zero:
// also the client of a permit, whose id does not tell. A client that is not in the registry itself does not
// ask it. ctx limits the question.
func Ask(ctx context.Context, s *session.Session, kind, key, owner string) (Said, error) {
	uuid, _, ok := strings.Cut(owner, ":")
	config := Of(s).reporter.Config()
	switch {
	case !ok:
		return Said{}, nil
	case uuid == s.ID:
		return Said{About: aboutOf(s, config.Label)}, nil
	case config.Off:
		return Said{}, nil
	}
	thing := registry.Thing{Kind: kind, Key: key}
	cmd := entry.Read(registry.Entry(config.Prefix, uuid), thing.Field())
	look, _, err := delivery.Deliver(ctx, s.Dispatch, cmd, delivery.Limit{Outage: time.Minute})
	if err != nil {
		return Said{}, fmt.Errorf("redlatch: the registry could not be asked: %w", outcome.Advise(err))
	}
	return said(look, thing.Field(), uuid, owner), nil
}

// said reads what an entry says. What makes no sense is as if it were not there, for any program may have
// written it.
func said(look entry.Look, field, uuid, owner string) (s Said) {
	s.About, _ = registry.ParseAbout(look.About)
	at := func(ms int64) time.Time { // by the clock of this process
		if ms <= 0 {
			return time.Time{}
		}
		return time.Now().Add(-time.Duration(max(0, look.Now-ms)) * time.Millisecond)
	}
	if seen, err := strconv.ParseInt(look.Seen, 10, 64); err == nil {
		s.Seen = at(seen)
	}
	thing, _ := registry.ParseThing(field, look.Thing)
	for _, o := range thing.Owners {
		if registry.Owned(uuid, o) == owner {
			s.Since = at(o.Since)
		}
	}
	return s
}
