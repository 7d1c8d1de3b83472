package redistest

import (
	"testing"

	"go.uber.org/goleak"
)

// Main runs a package's tests and fails when a goroutine outlives them. A package's TestMain is
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
func Main(m *testing.M) { goleak.VerifyTestMain(m) }
