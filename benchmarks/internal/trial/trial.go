package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// A Trial is one run.
type Trial struct {
	Server    *server.Server
	Others    []*server.Server // for primitives that need several
	Networks  []Network
	Java      *load.Java // nil: Redisson does not take part
	Rounds    int
	Block     time.Duration // the shortest length of a block
	Idle      time.Duration // how long idle waiters are watched
	Holds     int           // idle ones
	Poll      time.Duration
	Pool      int
	Only      *regexp.Regexp // names of what is run, network included
	Libraries *regexp.Regexp
	Log       io.Writer
}

// A Network is a way to the server.
type Network struct {
	Name, Addr string
	Slow       bool // with latency added
}

// Redisson is the name of the Java side.
const Redisson = report.Redisson

func (t *Trial) config(addr string) library.Config {
	return library.Config{Addr: addr, Lease: 30 * time.Second, Poll: t.Poll, Pool: t.Pool, Permits: library.Permits}
}

func (t *Trial) servers() []*server.Server { return append([]*server.Server{t.Server}, t.Others...) }

// libraries are those that were asked for.
func (t *Trial) libraries() (chosen []library.Library) {
	for _, l := range library.All {
		if t.Libraries.MatchString(l.Name) {
			chosen = append(chosen, l)
		}
	}
	return chosen
}

// Run runs what was asked for and adds what it finds to results. After an error results hold what came before.
func (t *Trial) Run(ctx context.Context, results *report.Results) error {
	for _, network := range t.Networks {
		for _, s := range scenarios {
			if name := network.Name + "/" + s.name; t.Only.MatchString(name) {
				start := time.Now()
				rows, err := t.scenario(ctx, s, network)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				results.Rows = append(results.Rows, rows...)
				fmt.Fprintf(t.Log, "%-28s %5.1f s\n", name, time.Since(start).Seconds())
			}
		}
	}
	for _, s := range primitives {
		if name := "primitives/" + s.name; t.Only.MatchString(name) {
			start := time.Now()
			if err := t.primitives(ctx, s, results); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Fprintf(t.Log, "%-28s %5.1f s\n", name, time.Since(start).Seconds())
		}
	}
	for _, idle := range []struct {
		name string
		run  func(context.Context, *report.Results) error
	}{{"waiters", t.waiters}, {"holds", t.holds}, {"stall", t.stalls}} {
		if t.Only.MatchString(idle.name) {
			start := time.Now()
			if err := idle.run(ctx, results); err != nil {
				return fmt.Errorf("%s: %w", idle.name, err)
			}
			fmt.Fprintf(t.Log, "%-28s %5.1f s\n", idle.name, time.Since(start).Seconds())
		}
	}
	return nil
}

func (t *Trial) scenario(ctx context.Context, s scenario, network Network) (rows []report.Row, err error) {
	var (
		floor  *entrant
		others []*entrant
		all    []*entrant
	)
	defer func() { err = errors.Join(err, leave(all), t.Server.Forget("*"+prefix+"*")) }()
	for _, l := range library.All {
		isFloor := l.Name == s.floor()
		if !s.takesPart(l) || !isFloor && !t.Libraries.MatchString(l.Name) {
			continue
		}
		e, err := t.enter(s, l, t.config(network.Addr), s.key(network.Name, l.Name))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		if isFloor {
			floor = e
		} else {
			others = append(others, e)
		}
	}
	if t.Java != nil && s.java && network == t.Networks[0] && t.Libraries.MatchString(Redisson) {
		key := s.key(network.Name, Redisson)
		e := &entrant{
			name: Redisson, runner: t.Java.Runner(key, s.callers, s.group == "own"),
			close: func() error { return nil },
		}
		all, others = append(all, e), append(others, e)
	}
	s, rounds := s.on(network, t.Rounds)
	if err := t.frame(ctx, s, rounds, floor, append([]*entrant(nil), others...)); err != nil {
		return nil, err
	}
	for _, e := range append([]*entrant{floor}, others...) {
		rows = append(rows, e.row(s, network.Name, t.Block))
	}
	return rows, nil
}
