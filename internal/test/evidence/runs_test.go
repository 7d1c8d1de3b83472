package evidence

import (
	"flag"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var version = flag.Bool("version", false, "demand that each part of .ci/long has run with this very code")

// parts are the steps of .ci/long.
var parts = []string{"lockorder", "parallel", "soak", "simulation"}

// A run is a line of runs.txt: the last time that a part of .ci/long has passed.
type run struct{ commit, date, ran string }

func runs(t *testing.T) map[string]run {
	all := map[string]run{}
	for line := range strings.Lines(read(t, "internal/test/evidence/runs.txt")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, " | ")
		require.Len(t, cells, 4, line)
		require.Contains(t, parts, cells[0])
		all[cells[0]] = run{commit: cells[1], date: cells[2], ran: cells[3]}
	}
	return all
}

// since is how many commits have changed code of these folders after that one, tests apart. It is not known
// where there is no git, or not the whole history.
func since(commit string, folders []string) (n int, known bool) {
	args := []string{"-C", root, "rev-list", "--count", commit + "..HEAD", "--"}
	for _, folder := range folders {
		args = append(args, ":(top,glob)"+folder+"/**/*.go", ":(top,glob)"+folder+"/**/*.lua")
	}
	args = append(args, ":(top,exclude,glob)**/*_test.go")
	said, err := exec.Command("git", args...).Output()
	if err != nil {
		return 0, false
	}
	n, err = strconv.Atoi(strings.TrimSpace(string(said)))
	return n, err == nil
}

// A version is made of code that has stood the long runs itself: go test ./internal/test/evidence -args
// -version
func TestAVersionHasLongRunsOfItsOwn(t *testing.T) {
	if !*version { // only where a version is made
		return
	}
	of := runs(t)
	for _, part := range parts {
		last, ran := of[part]
		if !ran {
			t.Errorf(".ci/long %s has never run in full length", part)
			continue
		}
		n, known := since(last.commit, library)
		switch {
		case !known:
			t.Errorf("%s ran with %s, which git does not know here", part, last.commit)
		case n > 0:
			t.Errorf("%d commits have changed the library since %s ran with %s: run .ci/long %s", n, part, last.commit, part)
		}
	}
}
