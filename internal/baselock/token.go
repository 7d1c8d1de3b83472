package baselock

import "github.com/redlatch/redlatch/internal/cohort"

// A fenced lock issues a token with each hold. The counter of the tokens is in Redis, so a local hand-off needs tokens that
// were issued before: an atomic hand-off issues a block of them. Its owner has the first, and each re-entry and each heir the
// next. While the owner's field is in the lock's hash nobody else is issued a token, so the block is the owner's alone, and
// whoever is next is issued a greater one. When the owner is over, or lost, what is left of the block is given to nobody.
//
// The scripts that end a hold, or re-enter, carry the last token of the block. They raise the counter to it, should it have
// been lost meanwhile.

// mostTokens is the most that a block has.
const mostTokens = 4096

// blockFor is how many tokens next is to have when o hands the lock over to it by script: twice as many as the last streak
// gave out, for the heirs of next, or one if it cannot have heirs.
func (o *owner) blockFor(next *owner, line *cohort.Cohort) int64 {
	if !next.inherits() {
		return 1
	}
	return min(2*max(line.Given.Load(), int64(o.run.given), 1), mostTokens)
}

// inheritance is what an heir of o begins with: of a fenced lock the next token and all behind it.
func (o *owner) inheritance() attemptReply {
	if o.base.tokens == "" {
		return attemptReply{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return attemptReply{Token: o.token + 1, Spare: o.spare - 1}
}

// drawLocked gives the owner its next token, for a re-entry after which the counter is at issued. If that is not the last of
// the block then the re-entry was issued a token of its own, and none of the block is left.
func (o *owner) drawLocked(issued int64) {
	if o.spare > 0 && issued == o.token+o.spare {
		o.token, o.spare = o.token+1, o.spare-1
		return
	}
	o.token, o.spare = max(o.token, issued), 0
}
