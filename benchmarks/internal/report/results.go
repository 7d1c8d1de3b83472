// Package report is what a run has found, and how it is written: as JSON, as tables and as pictures.
package report

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/redlatch/redlatch/benchmarks/internal/stats"
)

// Results are all that a run has found.
type Results struct {
	Command   string             `json:"command"`
	Date      string             `json:"date"`
	Machine   string             `json:"machine"`
	Versions  map[string]string  `json:"versions"`
	RoundTrip map[string]float64 `json:"round_trip_us"` // a PING, by network
	Rounds    int                `json:"rounds"`
	Block     string             `json:"block"`
	Libraries []Library          `json:"libraries"`
	Rows      []Row              `json:"rows"`
	Waiters   []Waiters          `json:"idle_waiters,omitempty"`
	Holds     []Holds            `json:"idle_holds,omitempty"`
	Stalls    []Stall            `json:"stalls,omitempty"`
	Left      []string           `json:"left_out,omitempty"` // what could not be measured, and why
}

// A Library is one that took part.
type Library struct {
	Name string `json:"name"`
	Lock bool   `json:"lock"` // several callers can want the same key
	Note string `json:"note"`
}

// Ours is the library that this is all about.
const Ours = "redlatch"

// A Row is one library in one scenario.
type Row struct {
	Scenario string        `json:"scenario"`
	Title    string        `json:"title"`
	Group    string        `json:"group"` // own, one or wake
	Network  string        `json:"network"`
	Library  string        `json:"library"`
	Block    string        `json:"block"`
	Floor    bool          `json:"floor"` // the ratio is the floor's to itself: the noise
	Value    stats.Summary `json:"value"` // pairs per second; for wake-ups, microseconds
	Ratio    stats.Summary `json:"ratio"` // to the floor's blocks before and after
	Jain     float64       `json:"jain"`
	Smallest float64       `json:"smallest_share"`
	WaitP50  float64       `json:"wait_p50_us"`
	WaitP99  float64       `json:"wait_p99_us"`
	Allocs   float64       `json:"allocs_per_pair,omitempty"`
	Commands float64       `json:"commands_per_pair"`
	In       float64       `json:"bytes_to_server_per_pair"`
	Out      float64       `json:"bytes_from_server_per_pair"`
	Stuck    int           `json:"stuck"`
}

// Waiters are idle ones on a key that stays taken.
type Waiters struct {
	Library    string  `json:"library"`
	Waiters    int     `json:"waiters"`
	Commands   float64 `json:"commands_per_second"`
	Goroutines int     `json:"goroutines"` // beside the waiters' own
}

// Holds are idle ones of different keys.
type Holds struct {
	Library    string  `json:"library"`
	Holds      int     `json:"holds"`
	Renews     bool    `json:"renews"`
	Goroutines int     `json:"goroutines"`
	Bytes      float64 `json:"bytes_per_hold"`    // of heap and stacks
	Handles    float64 `json:"bytes_per_handle"`  // of what has to exist before anything is held
	Commands   float64 `json:"commands_per_term"` // of a third of the lease
}

// A Stall is a wait that was cancelled while the server did not answer.
type Stall struct {
	Library string  `json:"library"`
	Median  float64 `json:"median_ms"`
	Max     float64 `json:"max_ms"`
	Never   int     `json:"not_within_limit"`
	Tries   int     `json:"tries"`
}

// Write puts everything into a folder: results.json, results.md and the pictures.
func Write(r Results, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	files := Pictures(r)
	files["results.json"] = string(text) + "\n"
	files["results.md"] = Markdown(r)
	var errs []error
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return errors.Join(errs...)
}

// rows finds those of a group and a network, in the order in which they were measured.
func (r Results) rows(group, network string) (found []Row) {
	for _, row := range r.Rows {
		if row.Group == group && row.Network == network {
			found = append(found, row)
		}
	}
	return found
}

func (r Results) networks() (names []string) {
	for _, row := range r.Rows {
		if !slices.Contains(names, row.Network) {
			names = append(names, row.Network)
		}
	}
	return names
}

// titles are the scenarios of rows, each once, in order.
func titles(rows []Row) (found []string) {
	for _, row := range rows {
		if !slices.Contains(found, row.Title) {
			found = append(found, row.Title)
		}
	}
	return found
}

// of finds the libraries of rows, each once, in the order of the run's list.
func (r Results) of(rows []Row) (names []string) {
	for _, l := range r.Libraries {
		if slices.ContainsFunc(rows, func(row Row) bool { return row.Library == l.Name }) {
			names = append(names, l.Name)
		}
	}
	return names
}

func find(rows []Row, title, library string) (Row, bool) {
	i := slices.IndexFunc(rows, func(row Row) bool { return row.Title == title && row.Library == library })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}
