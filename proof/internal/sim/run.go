package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/judge"
)

// A Result is what a run came to.
type Result struct {
	Records []history.Record
	Report  judge.Report
	Calls   int64    // of the library, by the clients' workers
	Broken  []string // why the run proves nothing: the plan, the simulation or the records are wrong
}

// Convicts tells whether something was found, and by which checks.
func (r Result) Convicts() (checks []string) {
	for _, f := range r.Report.Findings {
		if !slices.Contains(checks, f.Check) {
			checks = append(checks, f.Check)
		}
	}
	slices.Sort(checks)
	return checks
}

// Terms are what the library is held to here.
var Terms = judge.Terms{
	Slack:  history.Time(200 * time.Millisecond),
	HandOn: history.Time(max(10*time.Millisecond, 2*Trip) + Trip + 2*time.Millisecond), // the longest that is promised for a lock that comes from another process
	Window: history.Time(11500 * time.Millisecond),                                     // a third of the watchdog timeout, a second, and what the network takes
	Undo:   history.Time(6 * time.Second),
}

// After patience the calls that still wait are cancelled: some wait for what will never come, because its client was killed.
// After settlement more, everything is settled.
const (
	patience   = 2 * time.Minute
	settlement = 4 * time.Minute
)

// Run carries a plan out, and judges it. It must be called in a bubble of testing/synctest.
func Run(p Plan, suite Suite) Result {
	w := newWorld(p, suite)
	defer jitter.Replace(w.chance())()
	w.prepare()
	ctx, cancel := context.WithCancel(context.Background())
	go w.watchQueues(ctx)
	for _, f := range p.Faults {
		time.AfterFunc(f.At-time.Since(w.start), func() { w.befall(f) })
	}
	var workers sync.WaitGroup
	for i, c := range p.Clients {
		one := w.clients[i]
		for _, steps := range c.Workers {
			workers.Go(func() {
				for _, s := range steps {
					if sleep(one.Context, s.Think) != nil {
						return
					}
					one.Take(one.Context, s)
				}
			})
		}
	}
	stop := time.AfterFunc(patience, func() {
		for _, c := range w.clients {
			c.end()
		}
	})
	workers.Wait()
	stop.Stop()
	cancel()
	for _, c := range w.clients {
		c.network.heal()
	}
	time.Sleep(settlement)
	w.conclude()
	result := w.judge()
	w.close()
	time.Sleep(time.Minute) // the client library looks once a second whether it may stop dialing
	return result
}

// chance is by how much waits of the library differ.
func (w *world) chance() func(n int64) int64 {
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(w.plan.Seed, 3))
	return func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return dice.Int64N(n)
	}
}

// prepare declares the objects, and sets up those that need it.
func (w *world) prepare() {
	for _, o := range w.plan.Objects {
		for _, name := range o.Things() {
			w.write(history.Record{At: 1, What: history.Object, Object: name, N: o.N, Bound: o.Bound(), Fair: o.Kind == Fair})
		}
		if data := o.guarded(); data != "" {
			w.write(history.Record{At: 1, What: history.Object, Object: data})
		}
		if err := w.suite.Prepare(w.admin.Context, w.admin.Redis[0], o); err != nil {
			w.wrong("prepare %s: %v", o.Name, err)
		}
	}
}

// Bound is how long an object may be free while a call waits for it; 0: there is no bound.
func (o Object) Bound() history.Time {
	switch o.Kind {
	case Multi, Group, Redlock: // a call that waits holds some of the members in between, which the history does not say
		return 0
	}
	return history.Time(longestPoll)
}

// befall carries a fault out.
func (w *world) befall(f Fault) {
	switch f.Kind {
	case Restart:
		for _, c := range w.clients {
			c.network.suffer(fault{Kind: Cut})
		}
		for _, r := range w.admin.Redis {
			_ = r.ScriptFlush(context.Background()).Err()
		}
	case Stop:
		for _, c := range w.clients {
			c.network.suffer(fault{Kind: Freeze, For: f.For})
		}
	case Down:
		for _, c := range w.clients {
			c.network.suffer(f.fault)
		}
	case Force, Delete:
		o := w.plan.Objects[f.Object]
		begun := w.now()
		if f.Kind == Delete {
			w.servers[0].Del(o.Name)
			if o.Clock { // its tokens grow even if the counter is lost
				w.servers[0].Del("redisson_lock_token:{" + o.Name + "}")
			}
		} else if err := w.force(o); err != nil {
			w.wrong("force %s: %v", o.Name, err)
		}
		for _, name := range o.Things() {
			w.write(history.Record{What: history.Outside, Object: name, From: begun})
		}
	case Kill, Vanish:
		w.clients[f.Client].die(f.Kind)
	default:
		w.clients[f.Client].network.suffer(f.fault)
	}
}

// conclude asks the server what there is in the end.
func (w *world) conclude() {
	for _, o := range w.plan.Objects {
		for _, name := range o.Things() {
			n, err := w.suite.Final(context.Background(), w.admin.Redis, o, name)
			if err != nil {
				w.wrong("ask for %s in the end: %v", name, err)
			}
			if w.used(name) {
				w.write(history.Record{What: history.Final, Object: name, N: n})
			}
		}
		if o.guarded() != "" {
			w.readData(o)
		}
	}
}

// used tells whether anybody has called for a thing: what it is, is known from its operations.
func (w *world) used(thing string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.records, func(r history.Record) bool { return r.What == history.Call && r.Object == thing })
}

func (w *world) judge() Result {
	left := w.leftovers()
	w.mu.Lock()
	defer w.mu.Unlock()
	result := Result{Records: w.records, Broken: w.broken}
	for _, c := range w.clients {
		result.Calls += c.Calls()
	}
	h, err := history.Build(w.records)
	if err != nil {
		result.Broken = append(result.Broken, err.Error())
		return result
	}
	result.Report = judge.Judge(h, Terms)
	if len(left) > 0 {
		result.Report.Verdict = judge.Red
		result.Report.Findings = append(result.Report.Findings, judge.Finding{Check: "left behind", Text: fmt.Sprint(left)})
	}
	return result
}
