package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/naive"
	"github.com/redlatch/redlatch/proof/internal/sim"
	"github.com/redlatch/redlatch/proof/internal/verdict"
)

// terms are what the library is held to. A reply takes long on a busy machine; the window is a third of the watchdog
// timeout of 30 s, a second, and what the network takes.
//
// What was taken away is handed on for two round trips, of 50 ms each at most, and for a round trip and 2 ms more where it has just come from
// another process. The rest of HandOn is for records that a busy machine writes late.
var terms = verdict.Terms{Slack: history.Time(2 * time.Second), HandOn: history.Time(500 * time.Millisecond), Window: history.Time(12500 * time.Millisecond), Undo: history.Time(12 * time.Second)}

// floors are the fewest grants a second.
var floors = verdict.Floors{Calm: 50, Faulty: 5}

// A soak is a run, as the process that started it sees it.
type soak struct {
	Options
	suite    sim.Suite
	topology *topology
	calm     *servers.Server
	direct   []redis.UniversalClient // past all proxies
	objects  []sim.Object
	begin    history.Time
	journal  *history.Journal
	faulty   context.Context // ends with the time in which there are faults

	one sync.Mutex // one fault of the servers at a time

	mu        sync.Mutex
	processes []*process // of the faulty lane, those that live
	dead      []*process
	ghosts    int
	started   int
}

// Run carries a soak out. The folder is there afterwards, whatever happened; an error says that it proves nothing.
func Run(o Options) (err error) {
	if !supported {
		return errors.New("soak: it needs a clock that all processes share, and has one on Linux alone")
	}
	if err := os.Mkdir(o.Out, 0o755); err != nil {
		return err
	}
	redis.SetLogger(quiet{})
	s := &soak{Options: o, suite: sim.Library, objects: o.objects(history.Faulty)}
	if o.Naive {
		s.suite = naive.Suite()
	}
	if s.journal, err = history.Open(o.Out, "main"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.journal.Close()) }()
	if s.topology, err = startTopology(o.Topology); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.topology.close()) }()
	if s.calm, err = servers.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.calm.Close()) }()
	s.direct = s.topology.address().clients(3*time.Second, false)
	if err := s.describe(); err != nil {
		return err
	}
	return s.run()
}

// describe writes what is run.
func (s *soak) describe() error {
	commit, hash, err := sources()
	if err != nil {
		return err
	}
	name, err := nameOf(s.calm)
	if err != nil {
		return err
	}
	return verdict.Run{
		Seed: s.Seed, Topology: s.Topology, Naive: s.Naive, Server: name, Commit: commit, Sources: hash, Terms: terms, Floors: floors,
	}.Write(s.Out)
}

func (s *soak) run() error {
	quiet := address{Kind: Single, Entry: []string{s.calm.Addr()}}
	lanes := []lane{
		{history.Faulty, s.objects, s.suite, s.direct},
		{history.Calm, s.Options.objects(history.Calm), sim.Library, quiet.clients(3*time.Second, false)},
	}
	for _, l := range lanes {
		for _, o := range l.objects {
			for _, name := range o.Things() {
				s.record(history.Record{What: history.Object, Object: name, N: o.N, Bound: o.Bound(), Fair: o.Kind == sim.Fair, Lane: l.name})
			}
			if err := l.suite.Prepare(context.Background(), l.clients[0], o); err != nil {
				return fmt.Errorf("soak: prepare %s: %w", o.Name, err)
			}
		}
	}
	s.begin = now() + history.Time(500*time.Millisecond)
	var cancel context.CancelFunc
	s.faulty, cancel = context.WithTimeout(context.Background(), 500*time.Millisecond+s.For)
	defer cancel()
	for range s.Workers {
		if err := s.add(); err != nil {
			return err
		}
	}
	calm, err := s.start(job{Options: s.Options, Name: "calm", Number: 1 << 20, Lane: history.Calm, Servers: quiet, Timeout: 3 * time.Second, Begin: s.begin}, nil)
	if err != nil {
		return err
	}
	s.harass()
	return s.conclude(calm, lanes)
}

// A lane is the objects of one part of the run, and how they are reached directly.
type lane struct {
	name    history.Lane
	objects []sim.Object
	suite   sim.Suite
	clients []redis.UniversalClient
}

// add starts one more worker of the faulty lane.
func (s *soak) add() error {
	s.mu.Lock()
	s.started++
	number := uint64(s.started)
	s.mu.Unlock()
	dice := rand.New(rand.NewPCG(s.Seed, 1<<32+number))
	var addrs []string
	for _, n := range s.topology.nodes {
		addrs = append(addrs, n.Addr())
	}
	p, err := s.start(job{
		Options: s.Options, Name: fmt.Sprintf("w%d", number), Number: number, Servers: s.topology.address(), Begin: s.begin,
		Timeout: []time.Duration{300 * time.Millisecond, time.Second, 3 * time.Second}[dice.IntN(3)], RESP2: dice.IntN(4) == 0,
	}, addrs)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = append(s.processes, p)
	return nil
}

// replace kills a worker and starts another one.
func (s *soak) replace(p *process) {
	s.mu.Lock()
	at := slices.Index(s.processes, p)
	if at >= 0 {
		s.processes, s.dead = slices.Delete(s.processes, at, at+1), append(s.dead, p)
	}
	s.mu.Unlock()
	if at < 0 {
		return
	}
	p.kill()
	if err := s.add(); err != nil {
		s.broken("%v", err)
	}
}

// harass draws faults until the time is over, and returns when the last one has ended. They may overlap, and end in
// another order.
func (s *soak) harass() {
	dice := rand.New(rand.NewPCG(s.Seed, 1<<40))
	var all sync.WaitGroup
	for pause(s.faulty, 200*time.Millisecond+time.Duration(dice.Int64N(int64(2*time.Second)))) {
		f, own := faults[dice.IntN(len(faults))], rand.New(rand.NewPCG(dice.Uint64(), 0))
		s.mu.Lock()
		p := s.processes[dice.IntN(len(s.processes))]
		s.mu.Unlock()
		all.Go(func() { f.do(s, p, own) })
	}
	all.Wait()
}

// harm does something to a server, and undoes it after a while.
func (s *soak) harm(dice *rand.Rand, d time.Duration, begin, end func(*servers.Server) error) {
	s.one.Lock()
	defer s.one.Unlock()
	node := s.topology.nodes[dice.IntN(len(s.topology.nodes))]
	if s.Topology == Single && dice.IntN(2) == 0 {
		node = s.topology.nodes[0]
	}
	if s.faulty.Err() != nil {
		return
	}
	since := now()
	hinder := func(d time.Duration) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range s.processes {
			p.hinder(d)
		}
	}
	hinder(d + s.takeover())
	if err := begin(node); err != nil {
		s.broken("harm a server: %v", err)
	}
	pause(s.faulty, d)
	if err := end(node); err != nil {
		s.broken("heal a server: %v", err)
	}
	hinder(s.takeover())
	if s.Topology == Single {
		return
	}
	time.Sleep(s.takeover()) // a replica may have taken over without what was acknowledged last
	for _, o := range s.until(now()) {
		for _, name := range o.Things() {
			s.record(history.Record{What: history.Outside, Object: name, From: since, Loss: true})
		}
	}
}

// takeover is how long it takes until clients know who is the master.
func (s *soak) takeover() time.Duration {
	if s.Topology == Single {
		return 0
	}
	return 5 * time.Second
}

// around are the objects of the rounds that may be under way at a moment, and until are those of all rounds up to then.
func (s *soak) around(at history.Time) []sim.Object {
	all := s.until(at)
	return all[max(0, len(all)-4*atOnce):]
}

func (s *soak) until(at history.Time) []sim.Object {
	n := (int(max(0, at-s.begin)/history.Time(round)) + 2) * atOnce
	return s.objects[:min(n, len(s.objects))]
}

func (s *soak) record(r history.Record) {
	if r.At == 0 {
		r.At = now()
	}
	if err := s.journal.Write(r); err != nil && !errors.Is(err, os.ErrClosed) { // when all is over, timers of outages may fire
		panic(err) // the run must not go on
	}
}

// broken puts down why the run proves nothing.
func (s *soak) broken(format string, args ...any) {
	s.record(history.Record{What: history.Broken, Text: fmt.Sprintf(format, args...)})
}
