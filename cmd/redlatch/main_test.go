package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// binary is the command as users have it.
var binary string

// TestMain is redistest.Main with a folder to remove at the end.
func TestMain(m *testing.M) {
	if work := os.Getenv(actVariable); work != "" { // this process is one that a test has a run start
		act(work)
		return
	}
	os.Unsetenv(connect.URLVariable) // what the user has set is not for these tests
	heed()
	os.Exit(test(m))
}

// heed has the commands of the tests heed the signals that this process was started to ignore, by nohup for example: what a process has a
// handler for is not ignored by those that it starts.
func heed() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

func test(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "redlatch-command-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "redlatch")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the command: %v\n%s", err, out)
		return 1
	}
	if code := m.Run(); code != 0 {
		return code
	}
	if err := redistest.Outlived(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines outlived the tests:", err)
		return 1
	}
	return 0
}

// each runs fn on miniredis and on a real server that nobody else uses: the tests look at all keys of demos.
func each(t *testing.T, fn func(t *testing.T, srv *redistest.Server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { fn(t, redistest.Mini(t)) })
	t.Run("redis", func(t *testing.T) { fn(t, redistest.Process(t)) })
}
