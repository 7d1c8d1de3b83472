package redlatch

// Fenced is by what a store judges whether a write is stale: the fencing token of a hold, and whose it is. A
// [Hold] of package fencedlock is one, and its Guard takes it. A program that passes the three to another
// process, or has them from Java, writes a type with these methods there. The interface never grows.
type Fenced interface {
	Name() string  // of the lock
	Token() int64  // the newest of the holder, at least 1
	Owner() string // the holder, as [Hold.Owner] has it; empty where it is not known
}

var _ Fenced = (*Hold)(nil)
