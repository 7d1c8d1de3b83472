package demo

import (
	"fmt"
	"maps"
	"slices"
)

// Schema is the form of a Result.
const Schema = "redlatch.demo/1"

// A Result is what a demo did and what of it was verified. Its JSON form is for other programs.
type Result struct {
	Schema      string   `json:"schema"`
	OK          bool     `json:"ok"`
	Interrupted bool     `json:"interrupted"`
	Reasons     []string `json:"reasons,omitempty"` // why not OK
	Server      string   `json:"server"`
	Embedded    bool     `json:"embedded"`
	ID          string   `json:"id"` // part of the names of all keys
	Workers     int      `json:"workers"`
	Jobs        int      `json:"jobs"`
	Permits     int      `json:"permits"`
	Seconds     float64  `json:"seconds"`

	Checks  []Check  `json:"checks"`
	Numbers Numbers  `json:"numbers"`
	Notes   []string `json:"notes,omitempty"`
	Saw     *Glance  `json:"saw,omitempty"` // nil if the run ended before
}

// A Check is one line of the verdict.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func (c Check) reason() string { return c.Name + ": " + c.Detail }

// Numbers are the measurements behind the checks.
type Numbers struct {
	JobsDone         int   `json:"jobs_done"`     // recorded exactly once
	JobsRepeated     int   `json:"jobs_repeated"` // recorded more than once
	JobsTaken        int   `json:"jobs_taken"`    // with repetitions
	Retaken          int   `json:"retaken"`       // taken over from a worker that was gone
	MostInside       int64 `json:"most_inside"`
	CriticalSections int   `json:"critical_sections"`
	Overlaps         int   `json:"overlaps"`
	LedgerUpdates    int   `json:"ledger_updates"`
	StartSpreadMS    int64 `json:"start_spread_ms"`
	Victim           int   `json:"victim,omitempty"`      // the worker that was killed on purpose
	TakeoverMS       int64 `json:"takeover_ms,omitempty"` // from the kill to the next in the critical section
	Died             int   `json:"died"`                  // workers that ended in another way
	FinishCount      int64 `json:"finish_count"`          // what the finish latch stood at in the end
	PermitsAtEnd     int64 `json:"permits_at_end"`
	KeysRemoved      int   `json:"keys_removed"`
	KeysLeft         int   `json:"keys_left"`
}

// conclude says whether it is OK, and if not, why.
func (r *Result) conclude(err error) {
	if r.Interrupted {
		r.Reasons = append(r.Reasons, "interrupted")
	}
	if err != nil {
		r.Reasons = append(r.Reasons, err.Error())
	}
	for _, check := range r.Checks {
		if !check.OK && !r.Interrupted {
			r.Reasons = append(r.Reasons, check.reason())
		}
	}
	r.OK = len(r.Reasons) == 0
}

// beside are the reasons that are no check's.
func (r *Result) beside() []string {
	return slices.DeleteFunc(slices.Clone(r.Reasons), func(reason string) bool {
		return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.reason() == reason })
	})
}

// notes are what a reader of the verdict should know beside it.
func notes(f facts) []string {
	var notes []string
	for w, planned := range f.dead {
		if planned {
			notes = append(notes, fmt.Sprintf("Worker %d was killed while it held the lock but no permit, on purpose: a permit of a plain "+
				"semaphore has no owner and no lease, and would have died with it.", w))
		} else {
			notes = append(notes, fmt.Sprintf("Worker %d ended without our doing.", w))
		}
	}
	slices.Sort(notes)
	for _, job := range slices.Sorted(maps.Keys(f.ran)) {
		if times := f.ran[job]; times > 1 {
			notes = append(notes, fmt.Sprintf("Job %d ran %d times: a worker ended after it had run the job and before it had "+
				"recorded that. No lock can prevent this; done is what is recorded.", job, times))
		}
	}
	return notes
}
