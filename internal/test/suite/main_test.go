package suite_test

import (
	"os"
	"testing"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// TestMain is also the way into the process of a test that has to be killed.
func TestMain(m *testing.M) {
	if addr := os.Getenv(waiterVariable); addr != "" {
		waitToBeKilled(addr)
	}
	redistest.Main(m)
}
