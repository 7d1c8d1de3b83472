package holds

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// An Entry is one hold of the ledger. A hold with its public side is entered when it is made.
type Entry struct {
	Hold  Hold
	There *Place // where it was acquired

	number   int
	public   any             // kept alive; nil: it may be dropped
	cleanup  runtime.Cleanup // notices that
	forsaken bool            // it is over only because its test is
}

// Clients are those by which Redis is reached, one for each lock of a hold of several.
func (e Entry) Clients() (clients []any) {
	of := []Hold{e.Hold}
	if composite, ok := e.Hold.(Composite); ok {
		of = composite.Members()
	}
	for _, hold := range of {
		if remote, ok := hold.(interface{ Client() any }); ok {
			clients = append(clients, remote.Client())
		}
	}
	return clients
}

// ledger lists the holds of the process, for tests that look for those that are never given back. A program
// has none: nothing is entered before Enter was called, which only package redlatchtest does.
var ledger struct {
	kept atomic.Bool

	mu      lockorder.Mutex[lockorder.Ledger]
	entries []Entry // in the order in which the holds were made
	last    int     // number of the last entry
	prune   int     // length at which those that are over are swept out
}

// Enter has every hold entered from now on, and returns the number of the last one.
func Enter() int {
	ledger.kept.Store(true)
	ledger.mu.Lock()
	defer ledger.mu.Unlock()
	return ledger.last
}

// Entered are the holds behind the entry of that number which are in force, and those that were forsaken.
func Entered(number int) (entries []Entry) {
	ledger.mu.Lock()
	defer ledger.mu.Unlock()
	for _, e := range ledger.entries {
		if e.number > number && !e.over() {
			entries = append(entries, e)
		}
	}
	return entries
}

// Forsake leaves the hold of an entry to its lease, because the server and the clients of its test end. The
// entry stays, for the test that has not given it back.
func Forsake(e Entry) {
	e.cleanup.Stop()
	e.Hold.Leave()
	runtime.KeepAlive(e.public)
	ledger.mu.Lock()
	defer ledger.mu.Unlock()
	for i := range ledger.entries {
		if kept := &ledger.entries[i]; kept.number == e.number {
			kept.forsaken, kept.public = true, nil
		}
	}
}

// Strike takes a hold off the ledger: it has been reported, or somebody else answers for it.
func Strike(hold Hold) {
	if !ledger.kept.Load() {
		return
	}
	ledger.mu.Lock()
	defer ledger.mu.Unlock()
	ledger.entries = slices.DeleteFunc(ledger.entries, func(e Entry) bool { return e.Hold == hold })
}

// fakeYear is one in which no real clock is, but that of testing/synctest.
const fakeYear = 2020

// enter adds a hold, if the ledger is kept. The entry holds on to the public side where the clock is that of
// a bubble of testing/synctest: the garbage collector is outside of it, and what it reports of a hold that
// was dropped would end the process.
func enter(public any, inner Hold, there *Place, cleanup runtime.Cleanup) {
	if !ledger.kept.Load() {
		return
	}
	if time.Now().Year() >= fakeYear {
		public = nil
	}
	ledger.mu.Lock()
	defer ledger.mu.Unlock()
	ledger.last++
	if len(ledger.entries) >= max(ledger.prune, 64) {
		ledger.entries = slices.DeleteFunc(ledger.entries, Entry.swept)
		ledger.prune = 2 * len(ledger.entries)
	}
	ledger.entries = append(ledger.entries, Entry{Hold: inner, There: there, number: ledger.last, public: public,
		cleanup: cleanup})
}

func (e Entry) over() bool { return !e.forsaken && e.Hold.Ending().Cause() != nil }

// swept tells whether the entry is over, and makes sure that what it has kept alive can go.
func (e Entry) swept() bool {
	if e.over() && e.public != nil {
		e.cleanup.Stop()
		runtime.KeepAlive(e.public)
	}
	return e.over()
}
