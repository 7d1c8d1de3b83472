package redlatchtest

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/test/locktest"
)

// TestALockerPassesTheSuiteOfTheLocks runs the cases that every lock runs. Lockers of one name share a lock, as processes do.
func TestALockerPassesTheSuiteOfTheLocks(t *testing.T) {
	type place struct {
		tb   testing.TB
		name string
	}
	locks := map[place]*memory{}
	locktest.InMemory(t, func(tb testing.TB, _ redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		at := place{tb, name}
		if locks[at] == nil {
			locks[at] = &memory{name: name}
		}
		return &Locker{locks[at], rootapi.For(opts)}
	}, locktest.Features{
		Reentrant: true, Exclusive: true, Messages: true, Ordered: true, Owned: true,
		Lose: func(tb testing.TB, name string) { (&Locker{locks[place{tb, name}], nil}).Lose(nil) },
		TTL: func(tb testing.TB, name string) (ttl time.Duration) {
			lock := locks[place{tb, name}]
			lock.mu.Lock()
			defer lock.mu.Unlock()
			for _, f := range lock.holds {
				ttl = max(ttl, time.Until(f.Until()))
			}
			return ttl
		},
	}, left)
}

// left are the cases that mean nothing for a lock in memory.
var left = map[string]string{
	"an empty name is refused": "the half about WithNameMapper: there are no keys; TestALockerHasAName has the other",
	"a fixed lease is the server's, is not renewed, and ends the context first":            "a hold in memory ends with its lease, not before",
	"a lease is whole milliseconds, rounded up":                                            "that is the resolution of Redis",
	"Extend lengthens a lease":                                                             "a hold in memory ends with its lease, not before",
	"a hold that is left ends, and its lock ends with the lease":                           "the case asks Redis for the lease of nobody",
	"a least time that is longer than the lease is kept by the lease, if the process dies": "nothing outlives the process",
	"a key of another type is reported and left alone":                                     "there are no keys",
	"clients that cannot carry locks panic":                                                "there is no client",
	"a closed client is an error at once":                                                  "there is no client",
	"waiters of a client that is closed get its error":                                     "there is no client",
	"what cannot be given back by a closed client says so":                                 "there is no client",
}
