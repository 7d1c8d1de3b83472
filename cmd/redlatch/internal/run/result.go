package run

import (
	"encoding/json"
	"os"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
)

// A Result is what --result writes: with it a command's 75 is told from a lock that was taken.
type Result struct {
	Schema string `json:"schema"`
	views.Name
	Outcome  string `json:"outcome"` // exited, signalled, or the name of an exit code: busy, lost, ...
	Code     int    `json:"code"`    // of redlatch
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   int    `json:"signal,omitempty"` // that ended the command
	Owner    string `json:"owner,omitempty"`
	WaitedMS int64  `json:"waited_ms"`
	HeldMS   int64  `json:"held_ms"`
	Error    string `json:"error,omitempty"`

	began, got time.Time
}

const schema = "redlatch.run/1"

func (r *Result) write(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o666)
}
