//go:build unix

package guard

import "time"

// A Deadline says when the descendants are asked to end, and when they are killed. Its times are readings of clock.Boot.
type Deadline struct {
	KillAfter time.Duration // between SIGTERM and SIGKILL
	Slack     time.Duration // between SIGKILL and the end of the trust
	until     time.Duration // the end of the trust
	ended     bool
	killAt    time.Duration // once it has ended
}

// Slack is how long the kernel and the scheduler have for a SIGKILL to take effect.
func Slack(lease time.Duration) time.Duration { return max(250*time.Millisecond, lease/50) }

// Trust moves the end of the trust forward. It never moves back: each moment that is given is one up to which the lock is
// certainly held, and a later one that is earlier comes of a processor that was taken away between the readings of two clocks.
// Nothing moves a deadline that has ended.
func (d *Deadline) Trust(until time.Duration) {
	if !d.ended {
		d.until = max(d.until, until)
	}
}

// Until is the end of the trust.
func (d *Deadline) Until() time.Duration { return d.until }

// Over tells whether it is time to ask the descendants to end, or was.
func (d *Deadline) Over(now time.Duration) bool { return d.ended || now >= d.until-d.Slack-d.KillAfter }

// End begins the end, and reports whether it had not begun before.
func (d *Deadline) End(now time.Duration) bool {
	if d.ended {
		return false
	}
	d.ended = true
	d.killAt = min(now+d.KillAfter, d.until-d.Slack)
	return true
}

// Ended tells whether the end has begun.
func (d *Deadline) Ended() bool { return d.ended }

// Kill tells whether it is time to kill.
func (d *Deadline) Kill(now time.Duration) bool { return d.ended && now >= d.killAt }

// Late tells whether the kill should have taken effect.
func (d *Deadline) Late(now time.Duration) bool { return d.ended && now >= d.killAt+d.Slack }

// Again is how soon a kill is repeated, for what was forked meanwhile, and look is how often the clock is looked at at least: the
// timers of Go do not count the time for which the machine was suspended.
const (
	Again = 5 * time.Millisecond
	look  = 250 * time.Millisecond
)

// Sleep is how long there is nothing to do.
func (d *Deadline) Sleep(now time.Duration) time.Duration {
	next := d.until - d.Slack - d.KillAfter
	if d.ended {
		next = d.killAt
	}
	if d.Kill(now) {
		return Again
	}
	return min(max(next-now, 0), look)
}
