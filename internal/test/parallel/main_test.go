package parallel_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

var (
	forEach = flag.Duration("for", 600*time.Millisecond, "how long each primitive is used, in all its rounds together")
	seed    = flag.Uint64("seed", 0, "of the goroutines' choices, not of how they interleave; 0: another one each time")
)

func TestMain(m *testing.M) {
	if os.Getenv("REDLATCH_REGISTRY") == "" {
		_ = os.Setenv("REDLATCH_REGISTRY", "on") // the reporter is part of what runs at the same time
	}
	redistest.Main(m)
}
