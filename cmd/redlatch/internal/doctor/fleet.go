package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/fleet"
)

// mostNamed is how many locks, or kinds of clients, a finding names.
const mostNamed = 5

// amongObjects looks for something in each lock, semaphore and latch that could be found. Where some may be missing it is not fine.
func (p *patient) amongObjects(ctx context.Context, look func(*fleet.Object) []string) answer {
	return p.amongAll(ctx, func(all []*fleet.Object) (found []string) {
		for _, o := range all {
			found = append(found, look(o)...)
		}
		return found
	})
}

// amongAll is amongObjects for what only several objects show.
func (p *patient) amongAll(ctx context.Context, look func([]*fleet.Object) []string) answer {
	missing := ""
	is := p.inFleet(ctx, func(r *fleet.Report) (found []string) {
		missing = r.Missing()
		return look(r.Objects)
	})
	if is.state == fine && missing != "" {
		return answer{unknown, missing}
	}
	return is
}

// inFleet looks for something in the list of all objects and clients, which is made once.
func (p *patient) inFleet(ctx context.Context, look func(*fleet.Report) []string) answer {
	r, err := p.list.of(func() (*fleet.Report, error) { return p.listed(ctx) })
	if err != nil {
		return isUnknown(err)
	}
	all := look(r)
	switch {
	case len(all) > mostNamed:
		return isFound("%s, and %d more", strings.Join(all[:mostNamed], "; "), len(all)-mostNamed)
	case len(all) > 0:
		return isFound("%s", strings.Join(all, "; "))
	case len(r.Unreadable) > 0:
		return answer{unknown, "some could not be read: " + terminal.Clean(r.Unreadable[0].String())}
	default:
		return isFine()
	}
}

func (p *patient) listed(ctx context.Context) (*fleet.Report, error) {
	for _, n := range p.nodes {
		if n.up != nil {
			return nil, errors.New("a server does not execute commands")
		}
	}
	return fleet.List(ctx, p.client)
}
