package baselock

// A fenced lock issues a token with each hold. The counter of the tokens is in Redis, so a move needs tokens
// that were issued before. An atomic hand-off issues a block of them to its owner. The first tenant has the
// first token of the block, and each re-entry and each later tenant has the next one. While the owner's field
// is in the lock's hash, Redis issues tokens to no other owner. So the block is the tenure's alone, and the
// tokens of the next owner are greater. When the tenure is over, or lost, the rest of the block is never
// used.
//
// The scripts that end a hold, or re-enter, carry the last token of the block. They raise the counter to it,
// in case the counter has been lost meanwhile.

// drawLocked gives the tenant its next token, for a re-entry. issued is the counter after the re-entry. If
// that is not the last token of the block then the re-entry was issued a token of its own, and the block is
// used up or void.
func (c *Tenant) drawLocked(issued int64) {
	if t := c.Tenure; t.Spare > 0 && issued == c.Token+t.Spare {
		c.Token, t.Spare = c.Token+1, t.Spare-1
		return
	}
	c.Token, c.Tenure.Spare = max(c.Token, issued), 0
}
