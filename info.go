package redlatch

import (
	"context"
	"time"
)

// An Inspector can be asked for its state. Every primitive of this module is one. It will have no other
// methods than these two.
type Inspector interface {
	// Name returns the name that the primitive was made with.
	Name() string

	// Inspect asks Redis for the state. It changes nothing.
	Inspect(ctx context.Context) (Info, error)
}

// Info is what Inspect finds out about a primitive, of whatever kind. Fields that mean nothing for a kind are
// zero.
type Info struct {
	Name   string
	Key    string // the name as Redis has it; empty for a composite, whose members have keys
	Kind   Kind   // "lock", "fair_lock", "semaphore"; of a read-write lock the side that was asked
	Exists bool   // whether Redis has it: a lock that is held, a counter that was set

	Value int64 // of a counter: the permits that are available, the count that is left
	Total int64 // of a permit semaphore: its permits, available or not
	Token int64 // of a fenced lock: the newest token, to whomever it was issued

	TTL     time.Duration // how long it lasts if it is not renewed: 0 when it does not exist, negative without a TTL
	Holders []Holder      // in the order of their identities as text; empty when it is free
	Queue   []Waiter      // the waiters in Redis, the next one first, for locks that queue there
	Waiters int64         // calls of this process that wait for it through this client

	Need    int64    // of a composite: how many members must be held
	Members []Member // of a composite: each by itself
}

// A Holder is one identity that holds a lock or permits.
type Holder struct {
	Owner string        // "<client uuid>:<number>"; of a permit its id
	Holds int64         // how many times
	Side  string        // of a read-write lock: "read" or "write"
	Value string        // of a group: the value that is held
	Own   bool          // whether it belongs to this client
	Since time.Time     // when it was acquired; zero where only its own client knows
	TTL   time.Duration // its own lease where Redis keeps one for each holder, else that of the key
	Token int64         // of a fenced lock, where this client knows it: the newest token of the holder
}

// A Waiter is one identity in a queue in Redis. Its index is its place.
type Waiter struct {
	Owner string // "<client uuid>:<number>"
	Own   bool   // whether it belongs to this client
}

// A Member is what one member of a composite has found out.
type Member struct {
	Info       // its Name says which member it is; of a redlock the server, as in redlock.NodeError
	Err  error // why it could not be asked; Info has nothing but the Name then
}
