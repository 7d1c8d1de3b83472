// Package report is what a run has found, and how it is written: as JSON, as tables and as pictures.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/benchmarks/internal/stats"
)

// Results are the figures of a run.
type Results struct {
	Command   string             `json:"command"`
	Date      string             `json:"date"`
	Machine   string             `json:"machine"`
	Versions  map[string]string  `json:"versions"`
	RoundTrip map[string]float64 `json:"round_trip_us"` // a PING, by network
	Rounds    int                `json:"rounds"`
	Block     string             `json:"block"`
	Busy      float64            `json:"busy_cores"` // cores that did other work before or after the run
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

	Primitive bool `json:"primitive,omitempty"` // it is one of redlatch's
}

const (
	// Ours is this library.
	Ours = "redlatch"

	// Counterpart is appended to the name of a primitive to name Redisson's.
	Counterpart = ", Redisson's"

	// Redisson is the name of the Java side.
	Redisson = "Redisson"
)

// A Row is one library in one scenario.
type Row struct {
	Scenario  string        `json:"scenario"`
	Title     string        `json:"title"`
	Group     string        `json:"group"` // own, one or wake
	Network   string        `json:"network"`
	Library   string        `json:"library"`
	Block     string        `json:"block"`
	Primitive bool          `json:"primitive,omitempty"` // a primitive of redlatch, its counterpart of Redisson, or the floor beside them
	Floor     bool          `json:"floor"`               // the library is the floor; its ratio is to itself, so its spread is the noise
	Value     stats.Summary `json:"value"`               // pairs per second; for wake-ups, microseconds
	Ratio     stats.Summary `json:"ratio"`               // to the floor's blocks before and after
	Jain      float64       `json:"jain"`
	Smallest  float64       `json:"smallest_share"`
	WaitP50   float64       `json:"wait_p50_us"`
	WaitP99   float64       `json:"wait_p99_us"`
	Allocs    float64       `json:"allocs_per_pair,omitempty"`
	Commands  float64       `json:"commands_per_pair"`
	Micros    float64       `json:"server_us_per_pair"` // the server's time for these commands
	In        float64       `json:"bytes_to_server_per_pair"`
	Out       float64       `json:"bytes_from_server_per_pair"`
	Stuck     int           `json:"stuck"`
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

// Write puts the figures, tables and pictures into a folder, in two parts: results is the comparison with other libraries,
// primitives that of redlatch's own primitives. The files of a part of which nothing was run stay as they are.
func Write(r Results, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	files := map[string]string{}
	libraries, primitives := r.part(false), r.part(true)
	if libraries.found() {
		text, err := json.MarshalIndent(libraries, "", "  ")
		if err != nil {
			return err
		}
		maps.Copy(files, Pictures(libraries))
		files["results.json"], files["results.md"] = string(text)+"\n", Markdown(libraries)
	}
	if primitives.found() {
		text, err := json.MarshalIndent(primitives, "", "  ")
		if err != nil {
			return err
		}
		maps.Copy(files, primitivePictures(primitives))
		files["primitives.json"], files["primitives.md"] = string(text)+"\n", Primitives(primitives)
	}
	var errs []error
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return errors.Join(errs...)
}

// Redraw writes the tables and pictures of a folder again, from the figures in it.
func Redraw(folder string) error {
	for _, name := range []string{"results.json", "primitives.json"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var r Results
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err == nil {
			err = Write(r, folder)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// part is the comparison of libraries, or that of redlatch's own primitives.
func (r Results) part(primitives bool) Results {
	other := func(left string) bool { return strings.HasPrefix(left, "primitives/") != primitives }
	r.Left = slices.DeleteFunc(slices.Clone(r.Left), func(left string) bool { return !strings.HasPrefix(left, Redisson) && other(left) })
	r.Rows = slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Primitive != primitives })
	r.Libraries = slices.DeleteFunc(slices.Clone(r.Libraries), func(l Library) bool {
		return l.Primitive != primitives && !slices.ContainsFunc(r.Rows, func(row Row) bool {
			return row.Library == l.Name || l.Name == Redisson && strings.HasSuffix(row.Library, Counterpart)
		})
	})
	if primitives {
		r.Waiters, r.Holds, r.Stalls = nil, nil, nil
	}
	return r
}

func (r Results) found() bool { return len(r.Rows)+len(r.Waiters)+len(r.Holds)+len(r.Stalls) > 0 }

// rows finds those of a group and a network, in the order in which they were measured.
func (r Results) rows(group, network string) (found []Row) {
	for _, row := range r.Rows {
		if !row.Primitive && row.Group == group && row.Network == network {
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
