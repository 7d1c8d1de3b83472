package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
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
	files := Pictures(results())
	require.Len(t, files, 4)
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
