package baselock

import (
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/settings"
)

// A fenced lock issues a token with each hold. The counter of the tokens is in Redis, so a move needs tokens
// that were issued before. An atomic hand-off issues a block of them to its owner. The first tenant has the
// first token of the block, and each re-entry and each later tenant has the next one. While the owner's field
// is in the lock's hash, Redis issues tokens to no other owner. So the block is the tenure's alone, and the
// tokens of the next owner are greater. When the tenure is over, or lost, the rest of the block is never used.
//
// The scripts that end a hold, or re-enter, carry the last token of the block. They raise the counter to it,
// in case the counter has been lost meanwhile.

// mostTokens is the most that a block has. One of fewTokens is large enough to grow slowly.
const (
	fewTokens  = 512
	mostTokens = 4096
)

// blockFor is the number of tokens that the atomic hand-off from t to a call with these settings issues:
// twice as many as the last streak used, or one if what the call gets cannot be moved. A small block grows
// faster, up to eight times: where a round trip takes milliseconds a streak has room for few scripts, and it
// would take seconds to become large enough.
func (t *tenure) blockFor(next *settings.Settings, line *cohort.Cohort) int64 {
	if !movable(next) {
		return 1
	}
	used := max(line.Given.Load(), int64(t.streak.Given), 1)
	return min(max(2*used, min(8*used, fewTokens)), mostTokens)
}

// drawLocked gives the tenant its next token, for a re-entry. issued is the counter after the re-entry. If
// that is not the last token of the block then the re-entry was issued a token of its own, and the block is
// used up or void.
func (c *tenant) drawLocked(issued int64) {
	if t := c.tenure; t.spare > 0 && issued == c.token+t.spare {
		c.token, t.spare = c.token+1, t.spare-1
		return
	}
	c.token, c.tenure.spare = max(c.token, issued), 0
}
