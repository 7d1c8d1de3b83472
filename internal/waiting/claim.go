package waiting

import "time"

// An Offer is what a waiter says to those of its own process who might give it what it waits for.
type Offer struct {
	Who any // what they need to know of the waiter

	// Expected says that somebody of this process has the thing now, and will give it to the first in line or wake
	// the line. The waiter does not ask meanwhile, unless Poll passes without news.
	Expected bool
	Poll     time.Duration

	Gift any // what the waiter was given
}

// A Claim is the right to give the first in line what it waits for. It ends with Give, Refuse, End or StandBack, one of them.
// Until then the waiter does not ask, though it may leave.
type Claim struct {
	line *Line
	w    *waiter
}

// Claim claims the first in line. There is none to be claimed while its attempt is under way, or when it cannot be given
// anything; nobody is given it before him.
func (l *Line) Claim() (c Claim, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiters) == 0 {
		return c, false
	}
	w := l.waiters[0]
	if w.offer == nil || w.asking || w.claimed {
		return c, false
	}
	w.claimed = true
	return Claim{l, w}, true
}

// Next is what the first in line has said of itself, nil when nobody waits or the first cannot be given anything.
func (l *Line) Next() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiters) == 0 || l.waiters[0].offer == nil {
		return nil
	}
	return l.waiters[0].offer.Who
}

// Who is what the waiter has said of itself.
func (c Claim) Who() any { return c.w.offer.Who }

// Give ends the wait, and tells whether it did: the waiter may have left. The next in line expects to be given the
// thing too, with poll as its patience.
func (c Claim) Give(gift any, poll time.Duration) bool {
	l := c.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.w.left {
		return false
	}
	c.w.offer.Gift = gift
	l.serveLocked(c.w, nil)
	l.removeLocked(0, 1)
	l.headed = false
	switch {
	case len(l.waiters) == 0:
	case l.newsLocked(): // later than the gift, perhaps
		l.promoteLocked()
	default:
		l.alarmLocked(poll)
	}
	return true
}

// Refuse gives the waiter nothing. It asks, if it is still there, and is somebody else to the next who claims it.
func (c Claim) Refuse(who any) {
	c.line.mu.Lock()
	c.w.claimed, c.w.offer.Who = false, who
	c.line.mu.Unlock()
	c.line.Wake()
}

// End ends the claim of one who is about to release the thing for everybody, which wakes the line.
func (c Claim) End() {
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	c.w.claimed = false
}

// StandBack is for one who is about to give the thing to others instead, because his process had it for long enough. The
// next attempt is told to let them ask first; without news it is made when it would have been.
func (c Claim) StandBack() {
	c.End()
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	c.line.stands = true
}

// StandsBack tells an attempt, once, to let others ask first. It calls Fresh when it has done so.
func (l *Line) StandsBack() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	stands := l.stands
	l.stands = false
	return stands
}

// Fresh has an attempt that is about to ask answer for the wake-ups so far, not only for those before it began.
func (l *Line) Fresh() { l.drain() }

// alarmLocked sees to it that a line without a head does not sleep for ever on a promise. It is set once for many
// waiters that pass, which is why it may ring sooner than poll for the one who is first then.
func (l *Line) alarmLocked(poll time.Duration) {
	if l.alarm != nil {
		return
	}
	l.alarm = time.AfterFunc(poll, func() {
		l.mu.Lock()
		l.alarm = nil
		waits := len(l.waiters) > 0 && !l.headed
		l.mu.Unlock()
		if waits {
			l.Wake()
		}
	})
}

// Stop forgets the alarm, when nobody waits any more, nor will.
func (l *Line) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alarm != nil {
		l.alarm.Stop()
	}
}
