package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// spoilVariable makes the test binary a worker that lacks the tool it names; "nothing" is a proper worker.
const spoilVariable = "REDLATCH_DEMO_TEST_SPOIL"

func alone(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

var spoils = map[string]func(*tools){
	"nothing":   nil,
	"lock":      func(t *tools) { t.exclusive = alone },
	"semaphore": func(t *tools) { t.admitted = alone },
}

func TestMain(m *testing.M) {
	what := os.Getenv(spoilVariable)
	if what == "" {
		redistest.Main(m)
	}
	if err := workWith(os.Stdin, spoils[what]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// workersWithout returns how to start workers that lack a tool.
func workersWithout(tb testing.TB, what string) func() *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return func() *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), spoilVariable+"="+what,
			"GORACE=atexit_sleep_ms=0") // else every worker takes a second to end
		return cmd
	}
}

// each runs fn on miniredis and on a real server that nobody else uses: the tests look at all keys of demos.
func each(t *testing.T, fn func(t *testing.T, srv *redistest.Server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { fn(t, redistest.Mini(t)) })
	t.Run("redis", func(t *testing.T) { fn(t, redistest.Process(t)) })
}
