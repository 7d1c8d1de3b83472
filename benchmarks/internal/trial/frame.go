package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/benchmarks/internal/stats"
)

// An entrant is a library in a scenario, and what its blocks have shown so far.
type entrant struct {
	name   string
	sends  []string
	runner load.Runner
	close  func() error     // closes the clients of the runner's callers
	others []*server.Server // the servers that it uses beside the first
	idles  bool             // it is so slow that a block in which it did nothing counts, at the second try
	warm   bool             // it has run already

	values, ratios, jain, smallest []float64
	waits                          []int64
	done, allocs, stuck            int64
	used                           server.Usage
}

// frame runs rounds of blocks. Every block stands between two of the floor, A B A C A, and is compared with the mean of
// these: a machine whose speed drifts is as slow for the one as for the others. Each second round is run backwards.
// The floor's own blocks are compared with their neighbours in the same way, which shows how far the ratio of equal
// things strays.
func (t *Trial) frame(ctx context.Context, s scenario, rounds int, floor *entrant, others []*entrant) error {
	length := time.Duration(s.length) * t.Block
	for _, e := range append([]*entrant{floor}, others...) { // connections, scripts, caches
		if e.warm {
			continue
		}
		if _, err := e.runner.Block(length / 2); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		e.warm = true
	}
	overhead, err := t.overhead()
	if err != nil {
		return err
	}
	var floors []float64
	for range rounds {
		before, err := t.block(s, floor, length, overhead)
		if err != nil {
			return err
		}
		floors = append(floors, before)
		for _, e := range others {
			if err := ctx.Err(); err != nil {
				return err
			}
			value, err := t.block(s, e, length, overhead)
			if err != nil {
				return err
			}
			after, err := t.block(s, floor, length, overhead)
			if err != nil {
				return err
			}
			e.ratios = append(e.ratios, value/((before+after)/2))
			floors = append(floors, after)
			before = after
		}
		slices.Reverse(others)
	}
	for i := 1; i < len(floors)-1; i++ {
		floor.ratios = append(floor.ratios, floors[i]/((floors[i-1]+floors[i+1])/2))
	}
	return nil
}

// block runs one and notes it. Its value is pairs per second, or microseconds to wake up. A block in which nothing was
// done is run again: a machine that stood still for as long says nothing about anybody.
func (t *Trial) block(s scenario, e *entrant, length time.Duration, overhead server.Usage) (float64, error) {
	for try := range 5 {
		before, err := t.counts(e)
		if err != nil {
			return 0, err
		}
		b, err := e.runner.Block(length)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", e.name, err)
		}
		after, err := t.counts(e)
		if err != nil {
			return 0, err
		}
		if value := s.value(b); value > 0 || e.idles && try > 0 {
			var used server.Usage
			for i := range before {
				used.Add(server.Between(before[i], after[i], e.sends))
				used.In, used.Out = used.In-overhead.In, used.Out-overhead.Out
			}
			e.note(b, value, used)
			return value, nil
		}
	}
	return 0, fmt.Errorf("%s: nothing was done in %v; give it longer blocks with -block", e.name, length)
}

// counts are the counts of all servers that the entrant uses.
func (t *Trial) counts(e *entrant) (all []server.Counts, err error) {
	for _, s := range append([]*server.Server{t.Server}, e.others...) {
		c, err := s.Counts()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// value is what blocks are compared by.
func (s scenario) value(b load.Block) float64 {
	if s.group == "wake" {
		return b.Wait(0.5)
	}
	return b.PerSecond()
}

func (e *entrant) note(b load.Block, value float64, used server.Usage) {
	e.values = append(e.values, value)
	e.used.Add(used)
	e.done += b.Done
	e.allocs += int64(b.Allocs)
	e.stuck += int64(b.Stuck)
	e.waits = append(e.waits, b.Waits...)
	e.jain = append(e.jain, stats.Jain(b.Shares))
	e.smallest = append(e.smallest, stats.Smallest(b.Shares))
}

// overhead is what reading the counts costs by itself.
func (t *Trial) overhead() (server.Usage, error) {
	before, err := t.Server.Counts()
	if err != nil {
		return server.Usage{}, err
	}
	after, err := t.Server.Counts()
	return server.Between(before, after, nil), err
}

func (e *entrant) row(s scenario, network string, shortest time.Duration) report.Row {
	slices.Sort(e.waits)
	pairs := float64(max(e.done, 1))
	return report.Row{
		Scenario: s.name, Title: s.title, Group: s.group, Network: network, Library: e.name, Floor: e.name == s.floor(),
		Block: (time.Duration(s.length) * shortest).String(),
		Value: stats.Summarize(e.values), Ratio: stats.Summarize(e.ratios),
		Jain: stats.Summarize(e.jain).Median, Smallest: stats.Summarize(e.smallest).Median,
		WaitP50: float64(stats.Quantile(e.waits, 0.5)) / 1e3, WaitP99: float64(stats.Quantile(e.waits, 0.99)) / 1e3,
		Allocs: float64(e.allocs) / pairs, Commands: float64(e.used.Commands) / pairs,
		Micros: float64(e.used.Micros) / pairs, In: float64(e.used.In) / pairs, Out: float64(e.used.Out) / pairs, Stuck: int(e.stuck),
	}
}

// enter opens a library for a scenario.
func (t *Trial) enter(s scenario, l library.Library, config library.Config, key string) (*entrant, error) {
	e := &entrant{name: l.Name, sends: l.Sends, close: func() error { return nil }}
	var err error
	switch {
	case s.group == "wake":
		e.runner, err = load.NewWaking(l, config, key, s.clients == 1)
	case s.processes > 0:
		e.runner, err = load.NewCrowd(s.processes, load.Task{Library: l.Name, Config: config, Key: key, Callers: s.callers})
	default:
		err = e.open(s, l, config, key)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	return e, nil
}

// open makes the callers of this process.
func (e *entrant) open(s scenario, l library.Library, config library.Config, key string) error {
	var (
		clients []library.Client
		handles []library.Handle
	)
	e.close = func() error {
		var errs []error
		for _, client := range clients {
			errs = append(errs, client.Close())
		}
		return errors.Join(errs...)
	}
	for range max(s.clients, 1) {
		client, err := l.Open(config)
		if err != nil {
			return errors.Join(err, e.close())
		}
		clients = append(clients, client)
		for i := range s.callers {
			name := key
			if s.group == "own" {
				name = fmt.Sprintf("%s:%04d", key, i)
			}
			handle, err := client.Handle(name)
			if err != nil {
				return errors.Join(err, e.close())
			}
			handles = append(handles, handle)
		}
	}
	e.runner = load.NewCallers(handles, !s.background)
	return nil
}

// leave closes what enter has opened.
func leave(entrants []*entrant) error {
	var errs []error
	for _, e := range entrants {
		errs = append(errs, e.runner.Close(), e.close())
	}
	return errors.Join(errs...)
}
