package verdict

import (
	"encoding/json"

	"github.com/redlatch/redlatch/proof/internal/judge"
)

// A Report is the verdicts of several runs of one state of the library.
type Report struct {
	Verdict judge.Verdict `json:"verdict"`
	Commit  string        `json:"commit"`
	Sources string        `json:"sources"`
	Why     []string      `json:"why,omitempty"`
	Runs    []Verdict     `json:"runs"`
}

// Merge judges folders. The report is red if one of them is, and invalid if one is invalid or they are not of the same
// state of the library. A control is as it should be when it is red.
func Merge(folders []string) Report {
	r := Report{Verdict: judge.Green}
	for i, folder := range folders {
		v := Of(folder)
		r.Runs = append(r.Runs, v)
		if i == 0 {
			r.Commit, r.Sources = v.Run.Commit, v.Run.Sources
		}
		if v.Run.Sources != r.Sources {
			r.Why = append(r.Why, v.Folder+" is of other sources")
		}
		switch {
		case v.Run.Naive && v.Verdict != judge.Red:
			r.Why = append(r.Why, v.Folder+" is a control, and is not convicted")
		case v.Run.Naive:
		case v.Verdict == judge.Red:
			r.Verdict = judge.Red
		case v.Verdict == judge.Invalid:
			r.Why = append(r.Why, v.Folder+" is invalid")
		}
	}
	if r.Verdict == judge.Green && (len(r.Why) > 0 || len(r.Runs) == 0) {
		r.Verdict = judge.Invalid
	}
	return r
}

// JSON is the report as it is committed.
func (r Report) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}
