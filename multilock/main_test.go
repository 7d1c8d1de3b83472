package multilock_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// patience bounds every wait on a real clock. Nothing is asserted about how much of it was used.
const patience = 30 * time.Second

var (
	quiet, with, cancellable = locktest.Quiet, locktest.With, locktest.Cancellable
	take, refused, free      = locktest.Take, locktest.Refused, locktest.Free
	eventually               = redistest.Eventually
)
