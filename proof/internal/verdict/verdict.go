package verdict

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/judge"
	"github.com/redlatch/redlatch/proof/internal/models"
)

// A Verdict is what the folder of a run comes to.
type Verdict struct {
	Folder   string        `json:"folder"` // without the folders above it
	Verdict  judge.Verdict `json:"verdict"`
	Run      Run           `json:"run"`
	Why      []string      `json:"why,omitempty"` // it is invalid
	Findings []Finding     `json:"findings,omitempty"`
	Counts   Counts        `json:"counts"`
}

// A Finding is one thing that is wrong, with the records that say so.
type Finding struct {
	Check   string           `json:"check"`
	Object  string           `json:"object"`
	Text    string           `json:"text"`
	Records []history.Record `json:"records"`
}

// Counts are how much has happened.
type Counts struct {
	Seconds     float64                `json:"seconds"` // from the first call to the last
	Objects     int                    `json:"objects"`
	Operations  int                    `json:"operations"`
	Undisturbed int                    `json:"undisturbed"` // operations under faults whose client could act: those that a stall convicts
	Unknown     int                    `json:"unknown"`     // operations whose outcome nobody knows
	Outages     int                    `json:"outages"`
	Outside     int                    `json:"outside"` // acts that the promises exclude
	Excused     int                    `json:"excused"` // overlaps within the window of such an act
	Calm        int                    `json:"calm"`    // grants in the calm lane
	Faulty      int                    `json:"faulty"`  // grants in the other one
	Models      map[models.Verdict]int `json:"models"`  // objects by what their models say
}

// Of judges a folder.
func Of(folder string) Verdict {
	v := Verdict{Folder: filepath.Base(folder), Counts: Counts{Models: map[models.Verdict]int{}}}
	if err := v.judge(folder); err != nil {
		// Where the folder is does not belong to the verdict.
		v.invalid("%s", strings.ReplaceAll(strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), ""), folder, v.Folder))
	}
	switch {
	case v.red():
		v.Verdict = judge.Red
	case len(v.Why) > 0:
		v.Verdict = judge.Invalid
	default:
		v.Verdict = judge.Green
	}
	return v
}

func (v *Verdict) invalid(format string, args ...any) {
	v.Why = append(v.Why, fmt.Sprintf(format, args...))
}

func (v *Verdict) judge(folder string) (err error) {
	if v.Run, err = readRun(folder); err != nil {
		return err
	}
	records, err := history.Read(folder)
	if err != nil {
		return err
	}
	h, err := history.Build(records)
	if err != nil {
		return err
	}
	v.count(h)
	report := judge.Judge(h, v.Run.Terms.judge())
	v.Counts.Excused = report.Excused
	for _, f := range report.Findings {
		v.find(records, f.Check, f.Object, f.Text)
	}
	for _, a := range models.Check(h, v.Run.Terms.judge(), models.Budget) {
		v.Counts.Models[a.Verdict]++
		switch a.Verdict {
		case models.Convicted:
			v.find(records, "model", a.Object, a.Text)
		case models.Undecided:
			v.invalid("%s: %s", a.Object, a.Text)
		}
	}
	v.floor("calm", v.Counts.Calm, v.Run.Floors.Calm)
	v.floor("faulty", v.Counts.Faulty, v.Run.Floors.Faulty)
	if stalled := v.stalled(h); stalled != "" {
		v.invalid("the calm lane stalls as well: %s", stalled)
	}
	return nil
}

func (v *Verdict) count(h *history.History) {
	c := &v.Counts
	c.Objects, c.Outages = len(h.Things), len(h.Outages)
	first, last := history.Never, history.Time(0)
	for _, t := range h.Things {
		c.Operations += len(t.Acts)
		c.Outside += len(t.Outside)
		if t.Lane == history.Calm {
			c.Calm += judge.Grants(t)
		} else {
			c.Faulty += judge.Grants(t)
		}
		for _, a := range t.Acts {
			first, last = min(first, a.Called), max(last, a.Called)
			if t.Lane == history.Faulty && !h.Hindered(a.Client, a.Called, min(a.Back, h.End)) {
				c.Undisturbed++
			}
			if a.Outcome == history.Doubt || a.Outcome == "" {
				c.Unknown++
			}
		}
	}
	if last > first {
		c.Seconds = float64(last-first) / 1e9
	}
}

func (v *Verdict) floor(lane string, grants int, least float64) {
	if float64(grants) < least*v.Counts.Seconds || least > 0 && grants == 0 {
		v.invalid("the %s lane has %d grants in %.1f s, and %g a second are the least that says something", lane, grants, v.Counts.Seconds, least)
	}
}

// stalled names a calm object that was found to stall.
func (v *Verdict) stalled(h *history.History) string {
	for _, f := range v.Findings {
		if f.Check == "stall" && slices.ContainsFunc(h.Things, func(t *history.Thing) bool { return t.Name == f.Object && t.Lane == history.Calm }) {
			return f.Text
		}
	}
	return ""
}

// red tells whether something is wrong. A stall says nothing when the calm lane has stalled too, or the run is invalid
// for another reason.
func (v *Verdict) red() bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Check != "stall" || len(v.Why) == 0 })
}

var act = regexp.MustCompile(`([^\s\[]+)#(\d+)`)

// find adds a finding with the records of the acts that it names, and of what was done to their clients and their object.
func (v *Verdict) find(records []history.Record, check, object, text string) {
	f := Finding{Check: check, Object: object, Text: text}
	ops := map[string][]int64{}
	for _, m := range act.FindAllStringSubmatch(text, -1) {
		op, _ := strconv.ParseInt(m[2], 10, 64) // digits
		ops[m[1]] = append(ops[m[1]], op)
	}
	for _, r := range records {
		named, client := ops[r.Client]
		switch {
		case r.What == history.Object, r.What == history.Outside, r.What == history.Final:
			if r.Object != object && (r.Object != "" || r.What != history.Outside) {
				continue
			}
		case r.Op != 0 && !slices.Contains(named, r.Op), !client:
			continue
		}
		f.Records = append(f.Records, r)
	}
	slices.SortStableFunc(f.Records, func(x, y history.Record) int { return int(max(-1, min(1, x.At-y.At))) })
	v.Findings = append(v.Findings, f)
}
