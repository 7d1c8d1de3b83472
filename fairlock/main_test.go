package fairlock_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) {
	runIfChild()
	redistest.Main(m)
}
