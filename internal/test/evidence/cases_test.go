package evidence

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The numbers of cases come from a run of the tests, of which each row has the command:
//
//	go test -json ./... >FILE; go test ./internal/test/evidence -args -cases FILE
var casesFrom = flag.String("cases", "", "write cases.txt from this output of go test -json")

const casesFile = "internal/test/evidence/cases.txt"

// cases are how many cases each test had in the run that was counted last.
func cases(t *testing.T) map[string]int {
	all := map[string]int{}
	for line := range strings.Lines(read(t, casesFile)) {
		if test, n, counted := strings.Cut(strings.TrimSpace(line), " "); counted && test != "#" {
			number, err := strconv.Atoi(n)
			require.NoError(t, err)
			all[test] = number
		}
	}
	return all
}

// casesOf says how many cases these tests have together, as far as they were counted.
func casesOf(of map[string]int, names []string) string {
	n := 0
	for _, name := range names {
		n += of[name]
	}
	switch n {
	case 0:
		return ""
	case 1:
		return ", 1 case"
	}
	return fmt.Sprintf(", %d cases", n)
}

func TestCasesAreCounted(t *testing.T) {
	if *casesFrom == "" { // only where they are counted
		return
	}
	file, err := os.Open(*casesFrom)
	require.NoError(t, err)
	defer file.Close()
	passed := map[string]bool{} // package and test
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var event struct{ Action, Package, Test string }
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Test != "" && event.Action == "pass" {
			passed[event.Package+" "+event.Test] = true
		}
	}
	require.NoError(t, lines.Err())
	parents := map[string]bool{}
	for name := range passed {
		for at := strings.LastIndex(name, "/"); at > strings.Index(name, " "); at = strings.LastIndex(name[:at], "/") {
			parents[name[:at]] = true
		}
	}
	counted := map[string]int{}
	for name := range passed {
		if !parents[name] {
			_, test, _ := strings.Cut(name, " ")
			test, _, _ = strings.Cut(test, "/")
			counted[test]++
		}
	}
	of := cases(t)
	for _, p := range promises {
		for _, test := range p.tests {
			if n := counted[test]; n > 0 {
				of[test] = n
			}
		}
	}
	text := "# How many cases a test had when it was counted last: see cases_test.go.\n"
	for _, test := range slices.Sorted(maps.Keys(of)) {
		text += fmt.Sprintf("%s %d\n", test, of[test])
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, casesFile), []byte(text), 0o644))
}
