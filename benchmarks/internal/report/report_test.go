package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/benchmarks/internal/stats"
)

func results() Results {
	sum := func(v float64) stats.Summary { return stats.Summary{Median: v, Q1: v * 0.9, Q3: v * 1.1, N: 3} }
	row := func(group, title, library string, ratio, jain float64) Row {
		return Row{
			Group: group, Title: title, Library: library, Network: "loopback", Floor: strings.HasPrefix(library, "floor"),
			Ratio: sum(ratio), Value: sum(1000 * ratio), Jain: jain, Smallest: jain, WaitP50: 100, WaitP99: 12_345, Commands: 2,
		}
	}
	return Results{
		Command: "go -C benchmarks run .", Date: "2026-01-02", Machine: "2 cores", Rounds: 3, Block: "1ms",
		Versions: map[string]string{"Go": "1", "Redis": "7"}, RoundTrip: map[string]float64{"loopback": 50, "latency": 1200},
		Libraries: []Library{{Name: "floor <1>"}, {Name: Ours, Lock: true}, {Name: "peer", Lock: true}, {Name: "bare"}},
		Rows: []Row{
			row("own", "1 caller", "floor <1>", 1.01, 1), row("own", "1 caller", "bare", 1.5, 1), row("own", "1 caller", Ours, 0.95, 1),
			row("own", "16 callers", "floor <1>", 1, 1), row("own", "16 callers", Ours, 1.9, 1), row("own", "16 callers", "peer", 0.8, 1),
			row("one", "2 callers", "floor <1>", 1, 1), row("one", "2 callers", Ours, 2.2, 0.99), row("one", "2 callers", "peer", 1.3, 0.5),
			row("wake", "another client wakes", "floor <1>", 1, 1), row("wake", "another client wakes", Ours, 0.9, 1),
		},
		Waiters: []Waiters{{Library: Ours, Waiters: 64, Commands: 0.3}},
		Holds:   []Holds{{Library: Ours, Holds: 10000, Renews: true, Bytes: 499, Commands: 100}, {Library: "peer"}},
		Stalls:  []Stall{{Library: Ours, Median: 0.1, Max: 0.2, Tries: 5}},
		Left:    []string{"Redisson (no java)"},
	}
}

func TestTheTablesShowWhatWasFound(t *testing.T) {
	got := Markdown(results())
	for _, line := range []string{
		"| **redlatch** | 0.95 (0.85–1.04) | 1.90 (1.71–2.09) |",
		"| bare | 1.50 (1.35–1.65) | - |",               // took part in one scenario
		"| floor <1> | 1 (0.91–1.11) | 1 (0.90–1.10) |", // its spread is the noise
		"| peer | 1.30 (1.17–1.43) | 0.50 | 0.50 | 0.10 | 12 | 1 300 | 2.00 | 0 |",
		"| **redlatch** | 0.3 | 0 |",
		"| peer | 0 | 0 | 0 | does not renew |",
		"| own keys, 16 callers | loopback | **1.90** | 0.80 | peer |",
		"| one key, 2 callers | loopback | **2.20, Jain 0.99, p99 wait 12 ms** | - |  |", // the peer is unfair
		"Left out: Redisson (no java).",
		"Round trip of a `PING`: loopback 0.05 ms, latency 1.20 ms.",
	} {
		require.Contains(t, strings.Split(got, "\n"), fit(got, line), "in\n%s", got)
	}
}

// fit finds the line that contains want, for some stand in a longer one.
func fit(text, want string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, want) {
			return strings.TrimRight(line, "\n")
		}
	}
	return want
}

func TestPicturesAreWellFormedAndShowWhoIsUnfair(t *testing.T) {
	r := results()
	r.Rows[2].Scenario, r.Rows[4].Scenario, r.Rows[8].Scenario = "own/1", "own/16", "hot/16"
	files := Pictures(r)
	require.Len(t, files, 5)
	require.Less(t, strings.Index(files["speed.svg"], "of their own: 1 caller"), strings.Index(files["speed.svg"], "the same lock: 16 callers"))
	maps.Copy(files, primitivePictures(everything().part(true)))
	require.Len(t, files, 8)
	for name, text := range files {
		decoder := xml.NewDecoder(strings.NewReader(text))
		var err error
		for err == nil {
			_, err = decoder.Token()
		}
		require.True(t, errors.Is(err, io.EOF), "%s: %v", name, err)
	}
	one := files["one-key-loopback.svg"]
	require.Equal(t, 1, strings.Count(one, `class="peer hatched"`))
	require.NotContains(t, one, `class="ours hatched"`)
}

// everything is results, with some rows of primitives.
func everything() Results {
	r := results()
	r.Libraries = append(r.Libraries, Library{Name: "rlock", Primitive: true}, Library{Name: "fairlock", Primitive: true})
	for _, row := range []Row{
		{Group: "own", Title: "1 caller", Library: "floor <1>", Floor: true, Micros: 5},
		{Group: "own", Title: "1 caller", Library: "rlock", Micros: 6},
		{Group: "one", Title: "16 callers", Library: "floor <1>", Floor: true, Micros: 5},
		{Group: "one", Title: "16 callers", Library: "rlock", Micros: 0.1},
		{Group: "one", Title: "16 callers", Library: "fairlock", Micros: 74, Stuck: 3},
		{Group: "one", Title: "16 callers", Library: "rlock" + Counterpart, Micros: 31},
	} {
		row.Network, row.Primitive, row.Commands, row.Jain, row.Block = "loopback", true, 2, 0.5, "80ms"
		row.Ratio = stats.Summary{Median: row.Micros, N: 1}
		r.Rows = append(r.Rows, row)
	}
	r.Left = append(r.Left, "primitives/wake (redlock is ill)")
	return r
}

func TestPrimitivesHaveAPageOfTheirOwn(t *testing.T) {
	got := Primitives(everything().part(true))
	for _, line := range []string{
		"|  | alone | 16 callers |",
		"| rlock | 6.00 | 0.10, Jain 0.50 |",
		"| rlock, Redisson's | - | 31, Jain 0.50 |",
		"| fairlock | - | 74, Jain 0.50, 3 stuck |",
		"| rlock | 6.0 (2.00) | 0.1 (2.00) |",
		"Left out: primitives/wake (redlock is ill).",
		"Left out: Redisson (no java).",
	} {
		require.Contains(t, strings.Split(got, "\n"), line, "in\n%s", got)
	}
	require.NotContains(t, got, "peer")
	beside := Markdown(everything().part(false))
	require.Equal(t, Markdown(results().part(false)), beside)
	require.NotContains(t, beside, "fairlock")
}

func TestARunOfPrimitivesLeavesTheOtherFilesAlone(t *testing.T) {
	folder := t.TempDir()
	old := filepath.Join(folder, "results.md")
	require.NoError(t, os.WriteFile(old, []byte("old"), 0o600))
	require.NoError(t, Write(everything().part(true), folder))
	text, err := os.ReadFile(old)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	require.NoFileExists(t, filepath.Join(folder, "results.json"))
	for _, name := range []string{"primitives.md", "primitives.json", "primitives-hot.svg", "primitives-own.svg", "primitives-server.svg"} {
		require.FileExists(t, filepath.Join(folder, name))
	}
}

func TestWhatWasMeasuredOnABusyMachineSaysSo(t *testing.T) {
	r := everything()
	require.NotContains(t, Text(r), "Provisional")
	r.Busy = 1.5
	require.Equal(t, 2, strings.Count(Text(r), "Provisional"))
	for name, picture := range primitivePictures(r.part(true)) {
		require.Contains(t, picture, "provisional", name)
	}
}

func TestEverythingIsDrawnAgainFromItsFigures(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, Write(everything(), folder))
	files := map[string]string{}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		files[entry.Name()] = string(text)
		if filepath.Ext(entry.Name()) != ".json" {
			require.NoError(t, os.Remove(filepath.Join(folder, entry.Name())))
		}
	}
	require.NoError(t, Redraw(folder))
	for name, want := range files {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text), name)
	}
}

func TestALogarithmicAxisGivesEachPowerOfTenTheSameRoom(t *testing.T) {
	c := chart{log: true, mark: 1, groups: []group{{bars: []bar{{value: 0.2}, {value: 47}, {value: 0}}}}}
	a := c.axis()
	require.Equal(t, []float64{0.1, 1, 10, 100}, a.ticks)
	require.InDelta(t, a.x(1)-a.x(0.1), a.x(100)-a.x(10), 1e-9)
	require.InDelta(t, barLeft, a.x(0), 0) // 0 is not on a logarithmic axis, and stands at its left end
	require.InDelta(t, barRight, a.x(1000), 0)
	require.InDelta(t, 1, a.from, 0)
	require.Equal(t, []float64{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5}, chart{groups: []group{{bars: []bar{{value: 3.2}}}}}.axis().ticks)
}

func TestAResultFileCanBeReadAgain(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, Write(results(), folder))
	text, err := os.ReadFile(filepath.Join(folder, "results.json"))
	require.NoError(t, err)
	var again Results
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, results(), again)
	require.FileExists(t, filepath.Join(folder, "results.md"))
	require.FileExists(t, filepath.Join(folder, "own-keys-loopback.svg"))
}

func TestStepsOfAnAxisAreRound(t *testing.T) {
	for step, want := range map[float64]float64{0.13: 0.2, 0.2: 0.2, 0.6: 1, 1.1: 2, 37: 50, 0: 1} {
		require.InDelta(t, want, nice(step), 1e-9)
	}
}

func TestNumbersAreGroupedByThousands(t *testing.T) {
	require.Equal(t, "999", count(999))
	require.Equal(t, "1 000", count(1000))
	require.Equal(t, "1 234 568", count(1234567.8))
	require.Equal(t, "-5", count(-5))
	require.Equal(t, "-5 000", count(-5000))
}
