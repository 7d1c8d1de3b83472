package parallel_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/redlatch/redlatch/internal/test/servers"
)

// threads run goroutines at the same time, also where there are fewer processors: then they are interrupted anywhere.
const threads = 8

// real tells whether there is a server beside the embedded one.
func real() bool {
	return servers.Look() == nil || os.Getenv("REDLATCH_REDIS_URL") != "" || os.Getenv("REDLATCH_REQUIRE_REAL") == "1"
}

func TestParallel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	modes := []mode{calm, beside, forced, doubt}
	for _, make := range kinds {
		t.Run(make().name, func(t *testing.T) {
			for _, m := range modes {
				t.Run(m.String(), func(t *testing.T) {
					k := make()
					w := newWorld(t, m, k.servers)
					if w.run(k, max(1, k.times)**forEach/4); !t.Failed() {
						w.nothingStays(k)
					}
				})
			}
		})
	}
}
