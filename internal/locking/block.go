package locking

import (
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/settings"
)

// mostTokens is the most that a block has. One of fewTokens is large enough to grow slowly.
const (
	fewTokens  = 512
	mostTokens = 4096
)

// blockFor is the number of tokens that the atomic hand-off from t to a call with these settings issues:
// twice as many as the last streak used, or one if what the call gets cannot be moved. A small block grows
// faster, up to eight times: where a round trip takes milliseconds a streak has room for few scripts, and it
// would take seconds to become large enough.
func blockFor(t *baselock.Tenure, next *settings.Settings, line *cohort.Cohort) int64 {
	if !baselock.Movable(next) {
		return 1
	}
	used := max(line.Given.Load(), int64(t.Streak.Given), 1)
	return min(max(2*used, min(8*used, fewTokens)), mostTokens)
}
