package verdict

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/judge"
)

// A Run is what run.json says.
type Run struct {
	Seed     uint64 `json:"seed"`
	Topology string `json:"topology"`
	Naive    bool   `json:"naive,omitempty"` // a control, which has to be convicted
	Server   string `json:"server"`          // what the server calls itself
	Commit   string `json:"commit"`          // empty if it is not known
	Sources  string `json:"sources"`         // the hash of the library's files that are not tests
	Terms    Terms  `json:"terms"`
	Floors   Floors `json:"floors"`
}

// Terms are those of the judge, in nanoseconds.
type Terms struct {
	Slack  history.Time `json:"slack"`
	HandOn history.Time `json:"handOn"`
	Window history.Time `json:"window"`
	Undo   history.Time `json:"undo"`
}

func (t Terms) judge() judge.Terms {
	return judge.Terms{Slack: t.Slack, HandOn: t.HandOn, Window: t.Window, Undo: t.Undo}
}

// Floors are the fewest grants a second that say something.
type Floors struct {
	Calm   float64 `json:"calm"`
	Faulty float64 `json:"faulty"`
}

const file = "run.json"

// Write puts run.json into a folder.
func (r Run) Write(folder string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, file), append(text, '\n'), 0o644)
}

func readRun(folder string) (r Run, err error) {
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}
