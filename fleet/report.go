package fleet

import (
	"fmt"
	"time"
)

// ScanLimit is how many keys all masters may have together for [List] to go through all of them without
// [WithScan].
const ScanLimit = 100_000

// A Report is what List has found.
type Report struct {
	At         time.Time    // when, by the clock of a server
	Objects    []*Object    // in the order of their keys and kinds
	Clients    []*Client    // as from Clients
	Unreadable []Unreadable // what could not be read, so that something may be missing

	Keys    int64 // on all masters
	Skipped int64 // how many of them were not looked at
}

// Missing says what the report may lack because keys were not looked at; empty if all were.
func (r *Report) Missing() string {
	if r.Skipped == 0 {
		return ""
	}
	return fmt.Sprintf("%d keys were not looked at; holders without an entry in the registry, such as those of "+
		"Redisson, may be missing "+
		"where nobody waits for them", r.Skipped)
}
