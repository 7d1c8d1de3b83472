package cohort

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A Cohort is the local queue of one key, with what belongs to it for as long as a goroutine waits or holds.
type Cohort struct {
	*Queue
	Candidacy Candidacy // where there is a process queue

	Given atomic.Int64 // of a lock that issues tokens: the number of hand-offs in the last streak

	Own  any    // what its primitive keeps with it; set before others know the cohort
	Kind string // the label of what it waits for; set likewise

	users       int           // guarded by Registry.mu
	waits       int64         // guarded by Registry.mu: how many calls have waited in it
	waited      time.Duration // guarded by Registry.mu: for how long in all
	subscribed  Subscriptions
	closedSince atomic.Int64 // see ClosedSince; a watchdog.Moment
	void        atomic.Int64 // see Current; a watchdog.Moment
}

// Subscriptions are what a cohort hears. Each may be nil: it is not subscribed then.
type Subscriptions struct {
	Lock Listener // to the channel of releases, whose messages wake the cohort; nil: the cohort polls
	Own  Listener // to the channel of this process, whose messages hand the lock to it

	Open  func() // begins them, when the cohort has them: the first message may come before Open returns
	Close func() // ends them
}

// A Listener is one subscription.
type Listener interface {
	Confirmed() <-chan struct{} // closed once messages arrive
}

// New makes a cohort. subscribe is called with the cohort, so that messages can reach it, and returns its
// subscriptions. No message may come before New opens them, because a message reads what the cohort is
// subscribed to.
func New(subscribe func(*Cohort) Subscriptions) *Cohort {
	c := &Cohort{}
	c.void.Store(never)
	c.Queue = NewQueue(nil)
	if c.subscribed = subscribe(c); c.subscribed.Lock != nil {
		c.Queue.confirmed = c.subscribed.Lock.Confirmed
	}
	if c.subscribed.Open != nil {
		c.subscribed.Open()
	}
	return c
}

// Hears tells whether the waiters are woken by a message that is sent from now on: it reaches them, or the
// loss of their subscription does. A nil cohort has no subscription, so the answer for it is no.
func (c *Cohort) Hears() bool { return c != nil && arrive(c.subscribed.Lock) }

// HearsHandOffs tells whether the message of a hand-off to this process would be heard.
func (c *Cohort) HearsHandOffs() bool { return arrive(c.subscribed.Own) }

// arrive tells whether the messages of a subscription arrive by now.
func arrive(l Listener) bool {
	if l == nil {
		return false
	}
	select {
	case <-l.Confirmed():
		return true
	default:
		return false
	}
}

func (c *Cohort) stop() {
	c.Stop()
	if c.subscribed.Close != nil {
		c.subscribed.Close()
	}
}

// CloseSince notes since when no outsider could have got what the cohort is for. An outsider needs a while to
// ask, so a moment in which the lock was free does not count. The zero time says that outsiders had enough
// time.
func (c *Cohort) CloseSince(since time.Time) {
	if since.IsZero() {
		c.closedSince.Store(0)
		return
	}
	c.closedSince.Store(int64(watchdog.MomentOf(since)))
}

// ClosedSince is what CloseSince noted last.
func (c *Cohort) ClosedSince() time.Time {
	if since := c.closedSince.Load(); since != 0 {
		return watchdog.Moment(since).Time()
	}
	return time.Time{}
}

// never is the value of Cohort.void until the cohort knows that its messages arrive.
const never = math.MaxInt64

// Void has the cohort no longer rely on what the server has confirmed so far. It is called when a message
// says that the lock was given back or taken away, and when messages may have been missed.
func (c *Cohort) Void() { c.void.Store(int64(watchdog.MomentOf(clock.Now()))) }

// Current tells whether the answer to a command that was sent at news may still be relied on, as far as
// messages tell: they arrive, and none has come since. The first call after the subscription stands says no,
// because messages that were sent before the subscription were not heard.
func (c *Cohort) Current(news time.Time) bool {
	if !c.Hears() {
		return false
	}
	if c.void.CompareAndSwap(never, int64(watchdog.MomentOf(clock.Now()))-1) { // what is sent from now on is heard
		return false
	}
	return int64(watchdog.MomentOf(news)) > c.void.Load()
}
