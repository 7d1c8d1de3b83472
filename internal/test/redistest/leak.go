package redistest

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// lastBreath is how long goroutines may take to end after the last test. None of go-redis needs to be ignored, but a
// pool that could not dial sleeps for a second before it sees that it was closed, and goleak itself gives up sooner. An owner
// in doubt is settled at growing distances: the timer that finds its client closed may fire as long after the test as the doubt
// is old by then, and the worker that it starts lingers for up to six seconds.
const lastBreath = 45 * time.Second

const registryVariable = "REDLATCH_REGISTRY" // "off": no client of the process is in it

// atOnce is how many parallel tests run at a time unless -parallel says otherwise. Most of them wait, for leases or time
// limits; as many as there are processors, which is the default of go test, would leave the processors idle.
const atOnce = "8"

// Main runs a package's tests and fails when a goroutine outlives them. A package's TestMain is
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// The clients of the tests are in no registry, unless REDLATCH_REGISTRY says so: tests count commands, and hold for longer than a
// second on fake time.
func Main(m *testing.M) {
	if os.Getenv(registryVariable) == "" {
		_ = os.Setenv(registryVariable, "off")
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", atOnce) // fails only for want of such a flag
	}
	code := m.Run()
	if code == 0 {
		if err := Outlived(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlived the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Outlived names the goroutines that have not ended for so long after the last test.
func Outlived() error { return awaitNoLeak(lastBreath) }

func awaitNoLeak(patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		err := goleak.Find() // itself tries for more than a second
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
