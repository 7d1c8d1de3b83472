package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binaries is the folder with the examples as programs.
var binaries string

func TestMain(m *testing.M) {
	os.Unsetenv("REDLATCH_URL") // what the user has set is not for these tests
	os.Exit(test(m))
}

func test(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redlatch-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir + string(filepath.Separator)
	if out, err := exec.Command("go", "build", "-o", binaries, "./...").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the examples: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
