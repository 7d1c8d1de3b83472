package reporter

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/watchdog"
)

const (
	// Ripe is how long something is held or waited for before the client reports.
	Ripe = time.Second

	// silence is for how long nothing is sent after a refusal.
	silence = 10 * time.Minute

	// removals is how often the entry is removed at most, an interval apart. A failover takes less than that.
	removals = 3
)

// run does what is due, and sets the timer for the next run. Without one the reporter stays awake.
func (r *Reporter) run() {
	r.mu.Lock()
	config, ended := r.config, r.ended
	r.mu.Unlock()
	if ended || config.Off {
		return
	}
	s := r.look()
	switch ripe := s.old(watchdog.MomentOf(clock.Now().Add(-config.ripe()))); {
	case ripe:
		r.idle = time.Time{}
		r.write(s, config)
	case r.lingers():
	case r.listed.Load() && !r.unlist(config):
	default:
		r.restUnless(s)
	}
}

// lingers sets the timer for the end of the time for which an entry stays that nothing is ripe for, unless it
// is over.
func (r *Reporter) lingers() bool {
	if !r.listed.Load() {
		return false
	}
	if r.idle.IsZero() {
		r.idle = time.Now()
	}
	left := r.Linger() - time.Since(r.idle)
	if left > 0 {
		r.set(left)
	}
	return left > 0
}

func (r *Reporter) look() *Snapshot {
	s := &Snapshot{}
	r.Look(s)
	return s
}

// restUnless goes to rest if the snapshot is empty, and looks once more then: a Wake before that found the
// reporter awake.
func (r *Reporter) restUnless(s *Snapshot) {
	if !s.empty() {
		r.set(Ripe)
		return
	}
	r.Awake.Store(false)
	if !r.look().empty() {
		r.Wake()
	}
}

// write sends what has changed, in as many messages as it takes.
func (r *Reporter) write(s *Snapshot, config Config) {
	r.listed.Store(true) // there will be an entry, which is to be removed
	r.removed = 0
	switch r.send(s, config) {
	case Written:
		asked := r.asked
		r.set(r.due())
		if len(asked) > 0 { // now, for the owners that are told may block, and the next run is another goroutine's
			r.Asked(asked)
		}
	case Gone, Unknown:
		r.known = nil
		r.set(r.pause())
	case Refused:
		r.drop()
		r.set(silence)
	case Barred: // there is no timer any more
		r.drop()
	}
}

// send has the entry become what the snapshot has. An entry that has gone is written anew.
func (r *Reporter) send(s *Snapshot, config Config) Outcome {
	messages, next := r.known.messages(s, config)
	for _, m := range messages {
		answer := r.Send(m)
		switch {
		case answer.Outcome == Gone && r.known != nil:
			r.known = nil
			return r.send(s, config)
		case answer.Outcome != Written:
			return answer.Outcome
		}
		r.entries, r.asked, r.watched, r.failed = answer.Entries, answer.Asked, answer.Watched, 0
	}
	r.known = next
	return Written
}

// drop forgets the entry. If there is one, it ends by itself.
func (r *Reporter) drop() {
	r.listed.Store(false)
	r.known, r.idle = nil, time.Time{}
}

// unlist removes the entry, and tells whether that is done with. If not, the timer is set for the next try.
// An entry that is there all the same after the last one ends by itself.
func (r *Reporter) unlist(config Config) bool {
	r.removed++
	if !r.Remove(config) && r.removed < removals {
		r.known = nil // the entry may have gone
		r.set(r.interval())
		return false
	}
	r.drop()
	return true
}

// due is how long it is until the next report after one that was written. While a viewer looks it is that
// interval of the format or up to a fifth more, and never less, so a second at least.
func (r *Reporter) due() time.Duration {
	if r.watched {
		d := registry.WatchedInterval(r.entries)
		return d + jitter.Below(d/5)
	}
	return r.interval()
}

// interval is how long it is until the next report where no viewer looks: that of the format, a tenth more or
// less, so that clients which were started together do not stay together.
func (r *Reporter) interval() time.Duration { return scattered(registry.Interval(r.entries)) }

// pause is how long it is until the next report when the last one was not written: an interval, and twice as
// long each time for a client that does not know how many clients there are, because none of its reports was
// written yet. 100 000 of them send 833 reports a second in the end.
func (r *Reporter) pause() time.Duration {
	d := registry.Interval(r.entries)
	if r.entries == 0 {
		for range r.failed {
			d = min(2*d, registry.MostInterval)
		}
	}
	r.failed++
	return scattered(d)
}

func scattered(d time.Duration) time.Duration { return d - d/10 + jitter.Below(d/5) }
