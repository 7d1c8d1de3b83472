package baselock

import (
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/scripts"
)

// A fenced lock issues a token with each hold. The counter of the tokens is in Redis, so a local hand-off
// needs tokens that were issued before. An atomic hand-off issues a block of them to its owner. The owner has
// the first token of the block, and each re-entry and each successor has the next one. While the owner's
// field is in the lock's hash, Redis issues tokens to no other owner. So the block is the owner's alone, and
// the tokens of the next owner are greater. When the owner is over, or lost, the rest of the block is never
// used.
//
// The scripts that end a hold, or re-enter, carry the last token of the block. They raise the counter to it,
// in case the counter has been lost meanwhile.

// mostTokens is the most that a block has. One of fewTokens is large enough to grow slowly.
const (
	fewTokens  = 512
	mostTokens = 4096
)

// blockFor is the number of tokens that the atomic hand-off from o to next issues, for the successors of
// next: twice as many as the last streak used, or one if next cannot have successors. A small block grows
// faster, up to eight times: where a round trip takes milliseconds a streak has room for few scripts, and it
// would take seconds to become large enough.
func (o *owner) blockFor(next *owner, line *cohort.Cohort) int64 {
	if !next.movable() {
		return 1
	}
	used := max(line.Given.Load(), int64(o.streak.Given), 1)
	return min(max(2*used, min(8*used, fewTokens)), mostTokens)
}

// tokensOfSuccessor is what a successor of o begins with. For a fenced lock that is the next token of the
// block and all behind it.
func (o *owner) tokensOfSuccessor() scripts.Attempt {
	if o.base.tokens == "" {
		return scripts.Attempt{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return scripts.Attempt{Token: o.token + 1, Spare: o.spare - 1}
}

// drawLocked gives the owner its next token, for a re-entry. issued is the counter after the re-entry. If
// that is not the last token of the block then the re-entry was issued a token of its own, and the block is
// used up or void.
func (o *owner) drawLocked(issued int64) {
	if o.spare > 0 && issued == o.token+o.spare {
		o.token, o.spare = o.token+1, o.spare-1
		return
	}
	o.token, o.spare = max(o.token, issued), 0
}
