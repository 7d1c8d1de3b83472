package soak

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/internal/test/proxy"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// A fault is one kind of harm. It ends what it has begun, and returns when it has.
type fault struct {
	name string
	do   func(s *soak, p *process, dice *rand.Rand)
}

// faults are all kinds, those that are drawn more often more than once.
var faults = []fault{
	{"lose a request", one(proxy.DropRequest)},
	{"lose a request and cut", one(proxy.CloseBefore)},
	{"lose a reply", one(proxy.DropReply)},
	{"lose a reply", one(proxy.DropReply)},
	{"lose half of a reply", one(proxy.HalfReply)},
	{"lose a reply and cut", one(proxy.CloseAfter)},
	{"lose a reply and reset", one(proxy.ResetAfter)},
	{"late request", late},
	{"late copy", lateCopy},
	{"lose messages", during(func(p *proxy.Proxy, on bool) { p.DropMessages(on) }, 0)},
	{"lose messages", during(func(p *proxy.Proxy, on bool) { p.DropMessages(on) }, 0)},
	{"late messages", during(func(p *proxy.Proxy, on bool) { p.HoldMessages(on) }, 0)},
	{"cut", func(_ *soak, p *process, _ *rand.Rand) {
		p.hinder(0)
		for _, one := range p.proxies {
			one.CutAll()
		}
	}},
	{"hang", during(func(p *proxy.Proxy, on bool) {
		if p.Hang(on); on {
			p.CutAll()
		}
	}, 1)},
	{"slow", during(func(p *proxy.Proxy, on bool) {
		if p.Latency(0); on {
			p.Latency(60 * time.Millisecond)
		}
	}, 1)},
	{"half-open", half},
	{"suspend", suspended},
	{"suspend", suspended},
	{"kill", func(s *soak, p *process, _ *rand.Rand) { s.replace(p) }},
	{"force", taken},
	{"delete", taken},
	{"stop the server", stopped},
	{"restart the server", restarted},
}

// scripts matches the commands by which the library acts, and has the worker hindered when the first one comes.
func scripts(p *process, for_ time.Duration) func(proxy.Command) bool {
	hit := false
	return func(c proxy.Command) bool { // called with the proxy locked
		if c.Name != "EVALSHA" && c.Name != "EVAL" {
			return false
		}
		if !hit {
			hit = true
			go p.hinder(for_)
		}
		return true
	}
}

func some(p *process, dice *rand.Rand) *proxy.Proxy {
	if dice.IntN(2) == 0 {
		return p.proxies[0]
	}
	return p.proxies[dice.IntN(len(p.proxies))]
}

func one(action proxy.Action) func(*soak, *process, *rand.Rand) {
	return func(s *soak, p *process, dice *rand.Rand) {
		s.met(some(p, dice).On(scripts(p, 0), 1, action))
	}
}

// during turns something on for all connections of the worker, and off after a while. Lost messages hinder nobody:
// waiters ask by themselves.
func during(turn func(p *proxy.Proxy, on bool), hinders time.Duration) func(*soak, *process, *rand.Rand) {
	return func(s *soak, p *process, dice *rand.Rand) {
		d := length(dice)
		if hinders > 0 {
			p.hinder(d)
		}
		for _, one := range p.proxies {
			turn(one, true)
		}
		pause(s.faulty, d)
		for _, one := range p.proxies {
			turn(one, false)
		}
	}
}

// length is how long a fault lasts: mostly a short while.
func length(dice *rand.Rand) time.Duration {
	f := dice.Float64()
	return 50*time.Millisecond + time.Duration(f*f*float64(4*time.Second))
}

// late delays a request. If its client gives up meanwhile, it is executed all the same.
func late(s *soak, p *process, dice *rand.Rand) {
	d := length(dice)
	rule := some(p, dice).On(scripts(p, d), 1, proxy.Delay(d))
	s.haunt(rule, d > p.Timeout, nil)
}

// lateCopy keeps a request back while the connection ends, so that the client sends another one, and lets it go then.
func lateCopy(s *soak, p *process, dice *rand.Rand) {
	d := length(dice)
	through := some(p, dice)
	rule := through.On(scripts(p, d), 1, proxy.Hold)
	s.haunt(rule, true, func() {
		through.CutAll()
		pause(s.faulty, d)
		rule.Release()
	})
}

// met waits until a rule is met. What nothing has met by the end of the faults will not be.
func (s *soak) met(rule *proxy.Rule) bool {
	for rule.Hits() == 0 {
		if !pause(s.faulty, 5*time.Millisecond) {
			rule.Remove()
			break
		}
	}
	return rule.Hits() > 0
}

// haunt waits until a rule is met, and puts down that a request was executed which its client may have given up. It may
// take an object for a lease, or a place in its queue for a patience: the library says so. It looks like a client that
// dies as it asks.
func (s *soak) haunt(rule *proxy.Rule, abandoned bool, then func()) {
	met := s.met(rule)
	if then != nil {
		then()
	}
	if !abandoned || !met {
		return
	}
	begun := now()
	limit := time.Now().Add(8 * time.Second)
	for rule.Executed() == 0 && time.Now().Before(limit) {
		time.Sleep(5 * time.Millisecond)
	}
	for _, o := range s.around(begun) {
		if o.Kind == sim.Semaphore || o.Kind == sim.Permits || o.Kind == sim.Latch {
			continue
		}
		for _, thing := range o.Things() {
			s.mu.Lock()
			s.ghosts++
			name := fmt.Sprintf("ghost%d", s.ghosts)
			s.mu.Unlock()
			s.record(history.Record{At: begun, What: history.Call, Client: name, Op: 1, Object: thing, Mode: history.Exclusive, Lease: history.Time(sim.Longest)})
			s.record(history.Record{What: history.Kill, Client: name})
		}
	}
}

// half leaves all connections open that exist, and lets nothing through in one direction or both.
func half(s *soak, p *process, dice *rand.Rand) {
	d, up := length(dice), dice.IntN(2) == 0
	p.hinder(d + 2*time.Second)
	for _, one := range p.proxies {
		one.Hole(up, !up || dice.IntN(2) == 0)
	}
	pause(s.faulty, d)
	for _, one := range p.proxies {
		if err := one.Heal(); err != nil {
			s.broken("heal a proxy: %v", err)
		}
	}
}

func suspended(s *soak, p *process, dice *rand.Rand) {
	d := 2 * length(dice)
	p.hinder(d)
	p.signal(suspend)
	pause(s.faulty, d)
	p.signal(resume)
	p.hinder(0)
}

// taken takes an object away from its holders, which the promises exclude.
func taken(s *soak, _ *process, dice *rand.Rand) {
	var locks []sim.Object
	for _, o := range s.around(now()) {
		if o.Deletable() {
			locks = append(locks, o)
		}
	}
	if len(locks) == 0 {
		return
	}
	o := locks[dice.IntN(len(locks))]
	begun := now()
	var err error
	if dice.IntN(2) == 0 && o.Kind != sim.Latch { // whose key another program deletes when it has counted down
		err = s.direct[0].Del(s.faulty, o.Name).Err()
	} else {
		err = s.suite.Force(s.faulty, s.direct[0], o)
	}
	_ = err // on record either way: what is not known to have happened may have
	s.record(history.Record{What: history.Outside, Object: o.Name, From: begun})
}

func stopped(s *soak, _ *process, dice *rand.Rand) {
	s.harm(dice, length(dice), (*servers.Server).Stop, (*servers.Server).Continue)
}

// restarted kills a server. One that stands alone keeps what it has acknowledged; of a replicated one the replica may
// take over without it.
func restarted(s *soak, _ *process, dice *rand.Rand) {
	s.harm(dice, length(dice), (*servers.Server).Kill, (*servers.Server).Restart)
}
