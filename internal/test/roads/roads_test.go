package roads

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

const module = "github.com/redlatch/redlatch"

// A road is what a call of an rlock goes through.
var roads = []struct {
	name    string
	files   int      // the most of the lock's own packages that it visits
	foreign []string // it visits these besides, which are for what an rlock is not: there should be none
}{
	{"lock alone", 10, nil},
	{"unlock alone", 15, []string{"internal/cohort/share.go"}},
	{"lock waits", 15, nil},
	{"unlock hands on locally", 24, []string{"internal/cohort/share.go"}},
	{"unlock hands on by a script", 29, []string{"internal/locking/block.go", "internal/cohort/share.go"}},
}

// The lock's own packages. Below them are those that carry commands, keep deadlines and so on.
var own = regexp.MustCompile(`^internal/(baselock|locking|cohort)/`)

// Files for what only some locks have: readers, fair queues, tokens, multi-locks, the registry.
var foreign = regexp.MustCompile(`/(token|block|shares?)\.go$|^internal/(fair|sides|composite|listing|registry|reporter)/`)

// With -v it prints each road.
func TestTheRoadsOfAPlainLockAreShort(t *testing.T) {
	redistest.Long(t)
	walked := t.TempDir()
	walk := filepath.Join(t.TempDir(), "walk")
	run(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", walk, "./testdata/walk")
	run(t, walk, walked)
	turns, err := os.ReadDir(walked)
	require.NoError(t, err)
	require.Greater(t, len(turns), 5)
	for _, road := range roads {
		t.Run(road.name, func(t *testing.T) {
			var always map[string]bool // the functions that were entered each time
			for _, turn := range turns {
				entered := functions(t, filepath.Join(walked, turn.Name(), road.name))
				if always == nil {
					always = entered
				}
				maps.DeleteFunc(always, func(f string, _ bool) bool { return !entered[f] })
			}
			files := map[string][]string{}
			for _, f := range slices.Sorted(maps.Keys(always)) {
				file, function, _ := strings.Cut(f, " ")
				if own.MatchString(file) || foreign.MatchString(file) {
					files[file] = append(files[file], function)
				}
			}
			visited := 0
			for _, file := range slices.Sorted(maps.Keys(files)) {
				t.Log(file, strings.Join(files[file], " "))
				if foreign.MatchString(file) {
					require.Contains(t, road.foreign, file, "it is for what an rlock is not; with -v every function is shown")
				} else {
					visited++
				}
			}
			require.NotZero(t, visited)
			require.LessOrEqual(t, visited, road.files, "with -v every function is shown")
		})
	}
}

// functions are those that coverage data in folder knows to have been entered, as "file name".
func functions(t *testing.T, folder string) map[string]bool {
	entered := map[string]bool{}
	for line := range strings.Lines(run(t, "go", "tool", "covdata", "func", "-i="+folder)) {
		at, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if file, ok := strings.CutPrefix(at, module+"/"); ok && len(fields) == 3 && fields[2] != "0.0%" {
			entered[file+" "+fields[1]] = true
		}
	}
	return entered
}

func run(t *testing.T, name string, args ...string) string {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
