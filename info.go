package redlatch

import "time"

// Info is what Inspect finds out about a lock.
type Info struct {
	Name    string
	Key     string        // the name as Redis has it
	TTL     time.Duration // how long it lasts if nobody renews it; negative when its key has no TTL
	Holders []Holder      // who holds it, in the order of their identities as text; empty when it is free
	Queue   []string      // identities of the waiters in Redis, the next one first, for locks that queue there
	Waiters int           // calls of this process that wait for it through this client
}

// A Holder is one identity that holds a lock.
type Holder struct {
	Owner string // "<client uuid>:<number>"
	Holds int64  // how many times
	Side  string // "read" or "write" for a read-write lock
	Own   bool   // whether it belongs to this client
}
