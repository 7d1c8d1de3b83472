package reporter

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A Place names a thing.
type Place struct {
	Kind string // its label
	Key  string
}

// A Thing is what a client has to do with a place; package registry says what its parts mean.
type Thing struct {
	Place
	Holds   int64
	Held    watchdog.Moment // since when, of the oldest; 0: nothing is held
	Waiters int64
	Waiting watchdog.Moment // since when, of the oldest; 0: no call waits
	Waits   int64
	Waited  time.Duration
	Owners  []Owner // the oldest first, at most registry.MostOwners
}

// An Owner is one that holds a thing.
type Owner struct {
	ID    string
	Since watchdog.Moment
	Kept  bool // by WithAtLeast
}

// A Snapshot is everything that a client holds and waits for. The zero value has nothing.
type Snapshot struct {
	things []Thing
	places map[Place]int // where in things
	lease  time.Duration // the longest that is left
	busy   bool
}

// Busy notes that a call is about to wait, or has just waited.
func (s *Snapshot) Busy() { s.busy = true }

// Unleased is the lease of what is held until it is given back.
const Unleased time.Duration = -1

// mostLease is how long an entry lasts whose client holds something without a lease.
const mostLease = 24 * time.Hour

// Hold adds an owner that has so many holds, with so much of its lease left.
func (s *Snapshot) Hold(at Place, holds int64, lease time.Duration, owners ...Owner) {
	if lease == Unleased {
		lease = mostLease
	}
	s.lease = max(s.lease, lease)
	t := s.thing(at)
	t.Holds += holds
	for _, o := range owners {
		if t.Held == 0 || o.Since < t.Held {
			t.Held = o.Since
		}
		i, _ := slices.BinarySearchFunc(t.Owners, o.Since,
			func(other Owner, since watchdog.Moment) int { return int(min(max(other.Since-since, -1), 1)) })
		if i < registry.MostOwners {
			t.Owners = slices.Insert(t.Owners, i, o)
			t.Owners = t.Owners[:min(len(t.Owners), registry.MostOwners)]
		}
	}
}

// Holds tells whether something is held at a place.
func (s *Snapshot) Holds(at Place) bool {
	i, ok := s.places[at]
	return ok && s.things[i].Holds > 0
}

// Wait adds calls that wait, the oldest of them since then, and what is known of those that have waited.
func (s *Snapshot) Wait(at Place, waiters int64, since watchdog.Moment, waits int64, waited time.Duration) {
	t := s.thing(at)
	if waiters > 0 && (t.Waiting == 0 || since < t.Waiting) {
		t.Waiting = since
	}
	t.Waiters += waiters
	t.Waits += waits
	t.Waited += waited
}

func (s *Snapshot) thing(at Place) *Thing {
	i, ok := s.places[at]
	if !ok {
		if s.places == nil {
			s.places = map[Place]int{}
		}
		i = len(s.things)
		s.places[at] = i
		s.things = append(s.things, Thing{Place: at})
	}
	return &s.things[i]
}

// empty tells whether nothing is held or waited for.
func (s *Snapshot) empty() bool { return !s.busy && len(s.things) == 0 }

// old tells whether something has been held or waited for since a moment.
func (s *Snapshot) old(since watchdog.Moment) bool {
	return slices.ContainsFunc(s.things, func(t Thing) bool {
		return t.Holds > 0 && t.Held <= since || t.Waiters > 0 && t.Waiting <= since
	})
}

// A sum stands for what was last reported of a thing: the reporter of ten thousand holds keeps no copies.
type sum uint64

var seed = maphash.MakeSeed()

func (t Thing) sum() sum {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, n := range [...]int64{t.Holds, t.Waiters, int64(t.Waiting), t.Waits, int64(t.Waited)} {
		maphash.WriteComparable(&h, n)
	}
	for _, o := range t.Owners { // the first of them is since Held
		maphash.WriteComparable(&h, o)
	}
	return sum(h.Sum64())
}
