package doctor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// A Config says what is examined, and how.
type Config struct {
	Client redis.UniversalClient // is only asked for its options
	Where  string                // the servers, as the report calls them

	// Master is the name by which the sentinels know the master; empty without sentinels.
	Master    string
	Sentinels []*redis.SentinelClient

	Prefix    string        // how the names of the user's locks begin
	Timeout   time.Duration // for everything
	Window    time.Duration // for how long the clocks are compared
	RoundTrip time.Duration // from which on a round trip is long
	Ignore    []string      // checks that are left out
}

// The defaults of a Config.
const (
	Timeout   = 20 * time.Second
	Window    = 5 * time.Second
	RoundTrip = 100 * time.Millisecond
)

// atOnce is how many checks one server answers at the same time.
const atOnce = 4

// Run examines the servers. Its error is that of ctx, or of a client that cannot be examined; what is wrong with servers,
// even that none can be reached, stands in the report.
func Run(ctx context.Context, c Config) (*Report, error) {
	c.Timeout, c.Window, c.RoundTrip = cmp.Or(c.Timeout, Timeout), cmp.Or(c.Window, Window), cmp.Or(c.RoundTrip, RoundTrip)
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	p, err := receive(limited, c)
	if err != nil {
		return nil, err
	}
	defer p.close()

	var reaching sync.WaitGroup
	for _, n := range p.nodes {
		reaching.Go(func() { n.reach(limited) })
	}
	reaching.Wait() // before anything else, which would make the round trips longer

	all := &answers{of: map[string][]placed{}}
	var work sync.WaitGroup
	for _, n := range p.nodes {
		work.Go(func() { n.examine(limited, all) })
	}
	work.Go(func() { p.examine(limited, all) })
	work.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.report(limited, all), nil
}

// examine asks all checks of a master.
func (n *node) examine(ctx context.Context, all *answers) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, c := range Checks {
		if c.look == nil || slices.Contains(n.Ignore, c.ID) {
			continue
		}
		group.Go(func() error {
			all.add(c, n.addr, n.ask(ctx, c))
			return nil
		})
	}
	_ = group.Wait()
}

func (n *node) ask(ctx context.Context, c *Check) answer {
	if n.up != nil && !isReachCheck(c) {
		return answer{unknown, "the server does not execute commands"}
	}
	ctx, cancel := context.WithTimeout(ctx, slow+n.Window)
	defer cancel()
	return c.look(ctx, n)
}

// examine asks the checks of all servers together.
func (p *patient) examine(ctx context.Context, all *answers) {
	for _, c := range Checks {
		if c.whole == nil || slices.Contains(p.Ignore, c.ID) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, slow+p.Window)
		all.add(c, "", c.whole(ctx, p))
		cancel()
	}
}

// answers are those of all checks.
type answers struct {
	mu sync.Mutex
	of map[string][]placed // by the check's ID
}

type placed struct {
	node string // empty: of all together
	answer
}

func (a *answers) add(c *Check, node string, is answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[c.ID] = append(a.of[c.ID], placed{node, is})
}
