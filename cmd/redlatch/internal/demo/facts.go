package demo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// facts are what a journal proves, and nothing that anybody claims elsewhere.
type facts struct {
	finishes map[int]int // job: how often it was recorded as done
	ran      map[int]int // job: how often it ran to its end
	takings  int
	retaken  []retaking
	wrong    []string // recordings of a job by somebody whose it was not

	sections int
	overlaps []string

	most, mostSaw int64 // inside the semaphore at once: by order of the journal, and by the answers of INCR

	early       bool // somebody started before the start latch was opened
	starters    int
	absent      int   // died before the start
	spread      int64 // milliseconds between the first start and the last
	takeovers   []takeover
	dead        map[int]bool // worker: whether we killed it
	returned    []int        // workers whose permit the parent gave back
	uncounted   int          // dead workers that may have recorded a job and not counted it down
	permitDoubt int          // dead workers that may have had a permit that the journal does not show
}

type retaking struct{ job, from, by int }

// A takeover is the first entry into the critical section after its holder died.
type takeover struct {
	dead, by int
	ms       int64
	planned  bool
}

// replay goes through the journal in Redis' order.
func replay(journal []entry) facts {
	f := facts{finishes: map[int]int{}, ran: map[int]int{}, dead: map[int]bool{}}
	var (
		holder    int                // who is in the critical section
		deposed   = map[int]int{}    // who was there when another entered: which one
		gone      = map[int]bool{}   // died, or said that it lost the lock and stopped
		deathAt   = map[int]int64{}  // ms
		owner     = map[int]entry{}  // job: its latest taking
		inside    = map[int]bool{}   // workers with a permit
		last      = map[int]entry{}  // worker: its latest entry
		marks     = map[string]int{} // found in the witness key on entering: who entered
		opened    bool
		firstStep int64
	)
	overlap := func(format string, args ...any) { f.overlaps = append(f.overlaps, fmt.Sprintf(format, args...)) }
	act := func(e entry) { // in the critical section
		switch {
		case deposed[e.worker] != 0:
			overlap("worker %d was still at work there when worker %d had entered", e.worker, deposed[e.worker])
			delete(deposed, e.worker)
		case holder != e.worker:
			overlap("worker %d was at work there without having entered", e.worker)
		}
	}
	for _, e := range journal {
		switch e.kind {
		case opening:
			opened = true
		case started:
			if f.starters == 0 {
				firstStep = e.ms
			}
			f.starters++
			f.spread = e.ms - firstStep
			f.early = f.early || !opened

		case enter:
			if holder != 0 {
				deposed[holder] = e.worker
				if at, died := deathAt[holder]; died {
					f.takeovers = append(f.takeovers, takeover{dead: holder, by: e.worker, ms: e.ms - at, planned: f.dead[holder]})
				}
			}
			if e.found != "" {
				marks[e.found] = e.worker
			}
			holder = e.worker
			f.sections++
		case standing:
			act(e)
		case taken:
			act(e)
			f.takings++
			if before, again := owner[e.job]; again {
				f.retaken = append(f.retaken, retaking{e.job, before.worker, e.worker})
			}
			owner[e.job] = e
		case finished:
			act(e)
			f.finishes[e.job]++
			if now := owner[e.job]; now.worker != e.worker || now.attempt != e.attempt {
				f.wrong = append(f.wrong, fmt.Sprintf("worker %d recorded job %d, which was worker %d's", e.worker, e.job, now.worker))
			}
		case disowned:
			act(e)
		case exit:
			if e.found != "" {
				overlap("worker %d left and found %s in the witness key instead of its mark", e.worker, e.found)
				delete(deposed, e.worker) // said once is enough
			} else {
				act(e)
			}
			if holder == e.worker {
				holder = 0
			}

		case begin:
			inside[e.worker] = true
			f.most = max(f.most, int64(len(inside)))
		case end:
			delete(inside, e.worker)
			f.mostSaw = max(f.mostSaw, e.saw)
			if e.ran {
				f.ran[e.job]++
			}
		case returned:
			delete(inside, e.worker)
			f.returned = append(f.returned, e.worker)

		case killing:
			f.dead[e.worker] = true
			deathAt[e.worker] = e.ms
			continue // of the parent, not the worker's last
		case died:
			gone[e.worker] = true
			if _, planned := f.dead[e.worker]; !planned {
				f.dead[e.worker] = false
				deathAt[e.worker] = e.ms
			}
			continue
		case lost:
			gone[e.worker] = true
		}
		last[e.worker] = e
	}
	// Whoever entered while another was inside did no harm if that one was dead or did nothing more.
	for _, w := range slices.Sorted(maps.Keys(deposed)) {
		if !gone[w] {
			overlap("worker %d entered while worker %d was inside", deposed[w], w)
		}
	}
	for mark, by := range marks {
		of, _, _ := strings.Cut(mark, ":")
		if w, err := strconv.Atoi(of); err != nil || !gone[w] {
			overlap("worker %d entered and found the mark of worker %s in the witness key", by, of)
		}
	}
	for w, planned := range f.dead {
		if k := last[w].kind; k == "" || k == ready {
			f.absent++
		}
		if planned {
			continue // stood still under the lock: nothing in doubt
		}
		switch e := last[w]; {
		case e.kind == finished || e.kind == exit:
			f.uncounted++
			f.permitDoubt++ // it may have left after taking a job, and have got a permit
		case e.kind == end:
			f.permitDoubt++
		}
	}
	return f
}
