package cohort

import (
	"maps"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A Registry is the cohorts of one client. A cohort exists from the first call that waits in it until no call
// waits and no holder will give to it. A holder of a key for which no call has waited is only a mark, so ten
// thousand holds cost no cohort. The zero value is ready.
type Registry struct {
	mu      lockorder.Mutex[lockorder.Registry]
	cohorts map[Key]*Cohort
	holders map[hash]*Holder // by what this process holds
	windows map[hash]window  // in which this process leaves a key to others, and a while longer; nil until it first does
	shares  map[Key]any      // what holds a key and may be joined; nil until there is one

	mostWindows int // how many windows there may be before the ones that are over are looked for

	taken    // not guarded by mu
	attended // not guarded by mu
}

// A Window is a time in which this process leaves a key to others. The zero value is none.
type Window struct {
	Left time.Duration
	// Told says that the key is left to one process, which a release has told that its turn has come. A try
	// asks all the same, for the told process may have no call that waits any more.
	Told   bool
	Wanted bool // others most likely have the key, or wait for it, also for wantedFor after the window
}

// wantedFor is for how long others most likely have a key that this process has left to them. A call of this
// process that comes sooner asks in vain; one that comes later asks as if nothing were known.
const wantedFor = 50 * time.Millisecond

type window struct {
	until time.Time
	told  bool
}

// A Holder is the mark that this process holds something. It is a field of what holds, so that it costs no
// allocation of its own.
type Holder struct {
	Since watchdog.Moment
	Gives bool // the holder will give it on to the cohort, so calls that come for it do not ask

	Shared bool // a call that wants a share of it asks all the same
}

// Join returns the cohort of key, and makes it with subscribe if there is none. held is whether a holder of
// this process will give on what the key is for. The caller calls part when it has left the queue; part
// returns the candidate if that has to be settled, else nil.
func (r *Registry) Join(key Key, subscribe func(*Cohort) Subscriptions) (_ *Cohort, held bool, part func() *Candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.cohorts[key]
	if c == nil {
		c = New(subscribe)
		put(&r.cohorts, key, c)
	}
	c.users++
	c.Candidacy.use()
	began := time.Now()
	return c, r.givesLocked(key, false), func() *Candidate { return r.part(key, c, began) }
}

func (r *Registry) part(key Key, c *Cohort, began time.Time) (left *Candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.users--
	c.waits++
	c.waited += time.Since(began)
	if c.users == 0 {
		left = c.Candidacy.leave()
	}
	r.dropLocked(key, c)
	return left
}

// put is m[key] = value for a map that may not be made yet.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func (r *Registry) dropLocked(key Key, c *Cohort) {
	if c.users > 0 || r.givesLocked(key, false) {
		return
	}
	delete(r.cohorts, key)
	c.stop()
}

// givesLocked tells whether a holder of this process will give key on to a call, which wants all of it or a
// share.
func (r *Registry) givesLocked(key Key, share bool) bool {
	h := r.holders[key.hash]
	return h != nil && h.Gives && !(share && h.Shared)
}

// Find is the cohort of key, nil if there is none.
func (r *Registry) Find(key Key) *Cohort {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cohorts[key]
}

// Busy tells why a call for key may have to queue. waited: other calls of this process wait for it. held: a
// holder of this process will give it on. open: this process leaves it to others. A call that wants a share
// does not queue because of what others share.
func (r *Registry) Busy(key Key, share bool) (waited, held bool, open Window) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, left := r.windows[key.hash]; left {
		switch left := time.Until(w.until); {
		case left > 0:
			open = Window{left, w.told, true}
		case left > -wantedFor:
			open = Window{Wanted: true}
		default:
			delete(r.windows, key.hash)
		}
	}
	return r.waitersLocked(key) > 0, r.givesLocked(key, share), open
}

// HeldSince tells whether this process holds key, as far as its cohorts know, and since when.
func (r *Registry) HeldSince(key Key) (since time.Time, held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.holders[key.hash]; h != nil {
		return h.Since.Time(), true
	}
	return since, false
}

// Found is what the waiters of this process for key have found out last, nil for nothing yet.
func (r *Registry) Found(key Key) error {
	if c := r.Find(key); c != nil {
		return c.Found()
	}
	return nil
}

// Waiters is how many calls of this process wait for key.
func (r *Registry) Waiters(key Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waitersLocked(key)
}

func (r *Registry) waitersLocked(key Key) int {
	if c := r.cohorts[key]; c != nil {
		return c.Len()
	}
	return 0
}

// WaitersFor is how many calls of this process wait for a key in Redis: in the cohort of the kind, and in
// those of its parts, whose kinds begin with that kind and a space.
func (r *Registry) WaitersFor(key, kind string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, c := range r.cohorts {
		if k.key == key && (k.kind == kind || strings.HasPrefix(k.kind, kind+" ")) {
			n += c.Len()
		}
	}
	return n
}

// A Sight is what can be seen of a cohort from outside.
type Sight struct {
	Key    Key
	Cohort *Cohort
	Users  int           // calls that wait, are about to, or have just waited
	Waits  int64         // calls that have waited since the cohort exists
	Waited time.Duration // for how long in all
}

// All are the cohorts that there are.
func (r *Registry) All() []Sight {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.cohorts) == 0 {
		return nil
	}
	all := make([]Sight, 0, len(r.cohorts))
	for key, c := range r.cohorts {
		all = append(all, Sight{key, c, c.users, c.waits, c.waited})
	}
	return all
}

// Yield has this process leave key to others until then: to outsiders, or to the process that was told. A
// time that is over says that another process has been handed the key.
func (r *Registry) Yield(key Key, until time.Time, told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.windows) >= r.mostWindows { // and again when there are twice as many as are not over
		maps.DeleteFunc(r.windows, func(_ hash, w window) bool { return time.Since(w.until) >= wantedFor })
		r.mostWindows = 2 * max(len(r.windows), 8)
	}
	put(&r.windows, key.hash, window{until, told})
}

// Hold notes that holder has key from now on. If it Gives, calls of this process for key do not ask until
// Free: they wait for what the holder does. One that takes the place of such a holder and gives nothing
// itself, as a reader within a write hold, has them ask: no holder will tell them any more.
func (r *Registry) Hold(key Key, holder *Holder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.cohorts[key]; c != nil && !holder.Gives && r.givesLocked(key, false) {
		c.Wake()
	}
	put(&r.holders, key.hash, holder)
}

// Free notes that holder has key no more, or not for certain, and has given it to no waiter of this process.
// It wakes the waiters. heard says that a message wakes them: woken twice they would ask twice. Free does
// nothing when another holder has key by now.
func (r *Registry) Free(key Key, holder *Holder, heard bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holders[key.hash] != holder {
		return
	}
	delete(r.holders, key.hash)
	if c := r.cohorts[key]; c != nil {
		if holder.Gives && !heard {
			c.Wake()
		}
		r.dropLocked(key, c)
	}
}

// Claim claims the first waiter, for holder to give key to; see [Queue.Claim].
func (r *Registry) Claim(key Key, holder *Holder) (c *Cohort, claim Claim, ok bool) {
	r.mu.Lock()
	c = r.cohorts[key]
	known := r.holders[key.hash] == holder && holder.Gives
	r.mu.Unlock()
	if c == nil || !known {
		return nil, claim, false
	}
	claim, ok = c.Claim()
	return c, claim, ok
}
