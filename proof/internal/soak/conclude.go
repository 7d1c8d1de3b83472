package soak

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// settling is how long the end of a run may take at most: leases end, and the library settles what was in doubt.
const (
	settling = 75 * time.Second
	leaving  = 60 * time.Second
)

// conclude heals everything, waits until the workers have given back what they had and the rest has lapsed, and puts
// down what the servers say in the end.
func (s *soak) conclude(calm *process, lanes []lane) error {
	for _, p := range s.processes {
		for _, one := range p.proxies {
			if err := one.Heal(); err != nil {
				s.broken("heal a proxy: %v", err)
			}
		}
	}
	limit := time.After(leaving)
	for _, p := range append(s.processes, calm) {
		select {
		case <-p.done:
		case <-limit:
			s.broken("worker %s does not come to an end", p.Name)
			p.kill()
		}
	}
	called, err := s.called()
	if err != nil {
		return err
	}
	for _, l := range lanes {
		s.settle(l, called)
	}
	for _, p := range append(s.processes, calm) {
		p.stop()
	}
	for _, p := range append(s.processes, s.dead...) {
		_ = p.closeProxies() // it tells of halves of what a client was killed in the middle of
	}
	return nil
}

// called are the things that somebody has called for: what a thing is, is known from its operations.
func (s *soak) called() (map[string]bool, error) {
	records, err := history.Read(s.Out)
	called := map[string]bool{}
	for _, r := range records {
		if r.What == history.Call {
			called[r.Object] = true
		}
	}
	return called, err
}

// settle asks again and again until no lock of a lane is taken, and puts down what is there then, or when the time for
// it is over.
func (s *soak) settle(l lane, called map[string]bool) {
	limit := time.Now().Add(settling)
	quietly := time.Now().Add(time.Duration(terms.Undo)) // for counters, which do not show that something is on its way
	for _, o := range l.objects {
		for _, name := range o.Things() {
			if !called[name] {
				continue
			}
			n, err := l.suite.Final(context.Background(), l.clients, o, name)
			for (err != nil || !over(o, n)) && time.Now().Before(limit) {
				if o.N > 0 && err == nil && time.Now().After(quietly) && o.Kind != sim.Permits {
					break
				}
				time.Sleep(100 * time.Millisecond)
				n, err = l.suite.Final(context.Background(), l.clients, o, name)
			}
			if err != nil {
				s.broken("ask for %s in the end: %v", name, err)
				continue
			}
			s.record(history.Record{What: history.Final, Object: name, N: n})
		}
	}
}

// over tells whether what a server says of an object can be the end.
func over(o sim.Object, n int64) bool {
	switch o.Kind {
	case sim.Semaphore, sim.Permits:
		return n == o.N
	case sim.Latch:
		return n == 0
	}
	return n == 0
}
