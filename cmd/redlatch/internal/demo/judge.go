package demo

import (
	"fmt"
	"strings"
	"time"
)

// remains are what the keys said when all workers had ended.
type remains struct {
	ledger  ledger
	inside  int64
	permits int64
	count   int64 // of the finish latch
	opened  bool  // the parent's Await returned
}

// longestTakeover is the rest of the dead holder's lease and one poll interval of the next, should its wake-up come to
// nothing.
const longestTakeover = lease + 3*time.Second

// judge compares the facts with what was promised.
func judge(c *Config, f facts, r remains) ([]Check, Numbers) {
	n := Numbers{
		JobsTaken: f.takings, Retaken: len(f.retaken), MostInside: max(f.most, f.mostSaw),
		CriticalSections: f.sections, Overlaps: len(f.overlaps), LedgerUpdates: r.ledger.Updates,
		StartSpreadMS: f.spread, FinishCount: r.count, PermitsAtEnd: r.permits,
	}
	recordings := 0
	for job := 1; job <= c.Jobs; job++ {
		recordings += f.finishes[job]
		switch times := f.finishes[job]; {
		case times == 1:
			n.JobsDone++
		case times > 1:
			n.JobsRepeated++
		}
	}
	for w, planned := range f.dead {
		if planned {
			n.Victim = w
		} else {
			n.Died++
		}
	}
	for _, t := range f.takeovers {
		if t.planned {
			n.TakeoverMS = t.ms
		}
	}
	updates := f.takings + recordings
	checks := []Check{
		{"every job done exactly once", n.JobsDone == c.Jobs && len(f.wrong) == 0, jobsDetail(c, f, n)},
		{"one at a time under the lock", f.sections > 0 && len(f.overlaps) == 0, sectionsDetail(f)},
		{"no update of the ledger lost", updates > 0 && r.ledger.Updates == updates,
			fmt.Sprintf("%d of %d kept; each is a GET and a SET", r.ledger.Updates, updates)},
		{fmt.Sprintf("at most %d in the semaphore", c.Permits),
			n.MostInside >= 1 && n.MostInside <= int64(c.Permits) && r.inside == 0, insideDetail(n, r)},
		{"all permits given back",
			r.permits <= int64(c.Permits) && r.permits >= int64(c.Permits-f.permitDoubt), permitsDetail(c, f, r)},
		{"all started together", !f.early && f.starters > 0 && f.starters == c.Workers-f.absent,
			fmt.Sprintf("%s within %d ms", count(f.starters, "worker"), f.spread)},
		latchCheck(c, f, r),
	}
	return append(checks, takeoverChecks(c, f, n)...), n
}

func jobsDetail(c *Config, f facts, n Numbers) string {
	text := fmt.Sprintf("%d of %d", n.JobsDone, c.Jobs)
	if n.JobsRepeated > 0 {
		text += fmt.Sprintf("; %d more than once", n.JobsRepeated)
	}
	for i, again := range f.retaken {
		if i == 3 {
			text += fmt.Sprintf("; and %d more", len(f.retaken)-i)
			break
		}
		text += fmt.Sprintf("; job %d again by worker %d", again.job, again.by)
	}
	if len(f.wrong) > 0 {
		text += "; " + first(f.wrong)
	}
	return text
}

func sectionsDetail(f facts) string {
	if len(f.overlaps) > 0 {
		return fmt.Sprintf("%s in %d critical sections: %s", count(len(f.overlaps), "overlap"), f.sections, first(f.overlaps))
	}
	return fmt.Sprintf("%d critical sections, no overlap", f.sections)
}

func insideDetail(n Numbers, r remains) string {
	text := fmt.Sprintf("high-water mark %d, by INCR and DECR", n.MostInside)
	if r.inside != 0 {
		text += fmt.Sprintf("; at the end it counts %d", r.inside)
	}
	return text
}

func permitsDetail(c *Config, f facts, r remains) string {
	text := fmt.Sprintf("%d of %d", r.permits, c.Permits)
	if len(f.returned) > 0 {
		text += fmt.Sprintf("; %d for dead workers, by the parent", len(f.returned))
	}
	if r.permits < int64(c.Permits) && f.permitDoubt > 0 {
		text += fmt.Sprintf("; %s died at a moment when it may have had one", count(f.permitDoubt, "worker"))
	}
	return text
}

// latchCheck: a worker that dies between recording a job and counting it down leaves the latch closed. Nothing else
// may.
func latchCheck(c *Config, f facts, r remains) Check {
	k := Check{Name: "the finish latch opened"}
	switch {
	case r.opened && r.count == 0:
		k.OK, k.Detail = true, fmt.Sprintf("counted down by %d", c.Jobs)
	case r.count > 0 && r.count <= int64(f.uncounted):
		k.OK = true
		k.Detail = fmt.Sprintf("no: %d left of %d, by a worker that died before it counted down", r.count, c.Jobs)
	default:
		k.Detail = fmt.Sprintf("no: %d left of %d", r.count, c.Jobs)
	}
	return k
}

// takeoverChecks has a line for every holder that died: the one killed on purpose, and whoever was killed from outside.
func takeoverChecks(c *Config, f facts, n Numbers) []Check {
	var checks []Check
	planned := false
	for _, t := range f.takeovers {
		k := Check{
			Name: "a dead holder is replaced",
			OK:   t.ms <= longestTakeover.Milliseconds(),
			Detail: fmt.Sprintf("worker %d by worker %d after %s; the lease is %s", t.dead, t.by, seconds(t.ms),
				seconds(lease.Milliseconds())),
		}
		if !k.OK {
			k.Detail += fmt.Sprintf("; %s is the limit", seconds(longestTakeover.Milliseconds()))
		}
		planned = planned || t.planned
		checks = append(checks, k)
	}
	if c.Kill && !planned {
		k := Check{Name: "a dead holder is replaced", Detail: "nobody was killed"}
		if n.Victim != 0 {
			k.Detail = fmt.Sprintf("worker %d was killed, and nobody has taken over", n.Victim)
		}
		checks = append(checks, k)
	}
	return checks
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func seconds(ms int64) string {
	return fmt.Sprintf("%.2f s", (time.Duration(ms) * time.Millisecond).Seconds())
}

// first is the beginning of a list of complaints.
func first(complaints []string) string {
	const shown = 2
	text := strings.Join(complaints[:min(shown, len(complaints))], "; ")
	if more := len(complaints) - shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
