package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A Make makes the lock under test. It is called with different clients of one server, each of which stands for a
// process, and with names that nothing else uses.
type Make func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker

// Features say what a lock is. The zero value is the least: a lock that can be taken and given back.
type Features struct {
	Reentrant bool // the context of a hold takes the lock again; otherwise it is refused with Refusal
	Exclusive bool // one holder at a time; false for the read side of a read-write lock
	Watchdog  bool // a hold without a lease is renewed
	Messages  bool // a release wakes waiters; without, they poll
	Ordered   bool // waiters of one process are served in the order of their arrival, and a try does not overtake them
	Owned     bool // holds have an owner; those of composites have none

	// Refusal is what a lock that is not reentrant answers to its holder; nil stands for ErrNotReentrant.
	Refusal error

	// Blocker makes a lock of the same name that excludes this one: the write side for the read side. Nil: Make.
	Blocker Make

	// Keys are the keys of a lock that is held. Without any of them it is lost. Nil: the name itself.
	Keys func(name string) []string

	// Pause is the longest between two questions of a waiter, where it is known and more than 200 ms.
	Pause time.Duration

	// Beyond is by how much the keys of a lock outlive its lease.
	Beyond time.Duration

	// Stays tells the keys that may stay when nobody holds the lock, such as counters of fencing tokens. Nil: none.
	Stays func(key string) bool

	// Lose and TTL stand in for Redis where a lock keeps nothing there: they take the lock of a name away, and tell how long it
	// lasts. Nil: Redis is asked.
	Lose func(l testing.TB, name string)
	TTL  func(l testing.TB, name string) time.Duration

	// ForceUnlock frees a lock whoever holds it. Nil where there is no such thing.
	ForceUnlock func(ctx context.Context, lock redlatch.Locker) (bool, error)
}

// A trial is one case of the suite.
type trial struct {
	name string
	when func(Features) bool // nil: always
	run  func(l *lab)
}

// Exercise runs the suite. Together with whatever else its package tests, it needs redistest.Main as TestMain.
func Exercise(t *testing.T, make Make, features Features) {
	features = features.completed(make)
	t.Run("fake time", func(t *testing.T) {
		for _, c := range fakeTime {
			if c.when != nil && !c.when(features) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					mini, client := redistest.InMemory(t)
					l := newLab(t, make, features, client)
					l.mini = mini
					c.run(l)
					l.finish()
					time.Sleep(time.Second) // what an ended wait leaves in Redis is taken back behind it
				})
			})
		}
	})
	run := func(t *testing.T, srv *redistest.Server, c trial) {
		l := newLab(t, make, features, srv.Client(t))
		l.srv = srv
		l.name = srv.Key(t, "lock")
		c.run(l)
		l.finish()
	}
	t.Run("alone", func(t *testing.T) {
		redistest.EachAlone(t, func(t *testing.T, srv *redistest.Server) {
			for _, c := range alone {
				if c.when == nil || c.when(features) {
					t.Run(c.name, func(t *testing.T) { run(t, srv, c) })
				}
			}
		})
	})
	t.Run("together", func(t *testing.T) {
		redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
			for _, c := range together {
				if c.when == nil || c.when(features) {
					t.Run(c.name, func(t *testing.T) { t.Parallel(); run(t, srv, c) })
				}
			}
		})
	})
}

// completed has the defaults in it.
func (f Features) completed(make Make) Features {
	if f.Refusal == nil {
		f.Refusal = redlatch.ErrNotReentrant
	}
	if f.Blocker == nil {
		f.Blocker = make
	}
	if f.Keys == nil {
		f.Keys = func(name string) []string { return []string{name} }
	}
	if f.Stays == nil {
		f.Stays = func(string) bool { return false }
	}
	return f
}

// The cases by where they run. Those alone look at what is the whole server's or the whole process's: the number of
// commands, the goroutines.
var (
	fakeTime = join(waitingCases, orderCases, wakeCases, leaseCases, sharedCases, leaveCases, atLeastCases, keepCases, lossCases, clockContextCases,
		clockEventCases)
	alone    = join(quietCases, cleanCases)
	together = join(exclusionCases, reentryCases, refusalCases, releaseCases, doCases, contextCases, forgetCases,
		misuseCases, nameCases, eventCases, serverCases)
)

func join(lists ...[]trial) (all []trial) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
