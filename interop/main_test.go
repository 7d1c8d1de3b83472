package interop_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain decides whether the tests run, and is the way into the worker processes of the storm, which are this very
// program.
func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		os.Exit(work(os.Stdin))
	}
	flag.Parse()
	if reason := leftOut(); reason != "" {
		fmt.Println(reason)
		_ = flag.Set("test.run", "^TestInteroperabilityIsShownOnRequest$")
		os.Exit(m.Run())
	}
	// Nearly all cases wait, most of the time, for leases and messages; two at once, as a machine with two cores would
	// have them, take many minutes.
	_ = flag.Set("test.parallel", "24")
	code := m.Run()
	redisson.stop()
	command.remove()
	fmt.Printf("interop: %d cases, each direction one\n", cases.Load())
	tellAbsences()
	if code == 0 {
		if err := leaked(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlived the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked waits for what lingers after the last use, and then says what is left.
func leaked() error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		if err := goleak.Find(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

const howToRun = "run them with a JDK 17, Maven and redis-server as: REDLATCH_INTEROP=1 go test ./interop"

// leftOut says why the tests do not run, or nothing.
func leftOut() string {
	if os.Getenv("REDLATCH_REQUIRE_REAL") == "1" {
		return "" // what is missing fails the tests that need it
	}
	if os.Getenv("REDLATCH_INTEROP") != "1" {
		return "interop: the tests with Redisson are left out; " + howToRun
	}
	for _, tool := range []string{"java", "mvn", "redis-server"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Sprintf("interop: the tests with Redisson are left out, for there is no %s; %s", tool, howToRun)
		}
	}
	return ""
}

func TestInteroperabilityIsShownOnRequest(t *testing.T) {
	if reason := leftOut(); reason != "" {
		t.Skip(reason)
	}
}
