// Package trial runs the scenarios: it opens the libraries, interleaves their blocks with those of the floor, and
// makes rows of them.
package trial

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
)

// A scenario is a number of callers, and the keys that they want.
type scenario struct {
	name       string
	title      string
	group      string        // own: each caller has a key; one: all callers want the same key; wake: one caller waits for another, of the same client if that is one
	callers    int           // of each process
	processes  int           // 0: this one
	clients    int           // of this process, for one key; 0: one
	background bool          // with a context that cannot end
	java       bool          // Redisson takes part
	length     int           // of a block, as a multiple of the shortest
	slow       int           // how many times longer still with latency, so that every caller has several turns
	away       time.Duration // what a proxy adds to a round trip; for primitives
}

var scenarios = []scenario{
	{name: "own/1/background", title: "1 caller, context without end", group: "own", callers: 1, background: true, length: 1},
	{name: "own/1", title: "1 caller", group: "own", callers: 1, java: true, length: 1},
	{name: "own/16", title: "16 callers", group: "own", callers: 16, java: true, length: 1},
	{name: "own/128", title: "128 callers", group: "own", callers: 128, java: true, length: 1},
	{name: "own/1024", title: "1024 callers", group: "own", callers: 1024, length: 3},
	{name: "hot/2", title: "2 callers", group: "one", callers: 2, length: 2},
	{name: "hot/16", title: "16 callers", group: "one", callers: 16, java: true, length: 2, slow: 2},
	{name: "hot/128", title: "128 callers", group: "one", callers: 128, length: 4, slow: 4},
	{name: "hot/4x8", title: "4 processes of 8 callers", group: "one", callers: 8, processes: 4, length: 8},
	{name: "wake", title: "a waiter of another client", group: "wake", callers: 1, length: 3},
}

// primitives are the scenarios in which each primitive of redlatch is measured, beside the floor and Redisson's counterpart.
var primitives = []scenario{
	{name: "own/1", title: "1 caller", group: "own", callers: 1, java: true, length: 1},
	{name: "own/16", title: "16 callers", group: "own", callers: 16, length: 1},
	{name: "own/128", title: "128 callers", group: "own", callers: 128, length: 1},
	{name: "own/1000", title: "1000 callers", group: "own", callers: 1000, length: 2},
	{name: "hot/16", title: "16 callers", group: "one", callers: 16, java: true, length: 1},
	{name: "hot/128", title: "128 callers", group: "one", callers: 128, length: 2},
	{name: "hot/4x8", title: "4 processes of 8 callers", group: "one", callers: 8, processes: 4, length: 3},
	{name: "hot/4x8/1ms", title: "the same, 1 ms away", group: "one", callers: 8, processes: 4, length: 6, away: time.Millisecond},
	{name: "hot/4x8/5ms", title: "the same, 5 ms away", group: "one", callers: 8, processes: 4, length: 12, away: 5 * time.Millisecond},
	{name: "hot/10x1", title: "10 clients of 1 caller", group: "one", callers: 1, clients: 10, length: 1},
	{name: "hot/10x100", title: "10 clients of 100 callers", group: "one", callers: 100, clients: 10, length: 4},
	{name: "wake", title: "a waiter of another client", group: "wake", callers: 1, length: 2},
	{name: "wake/same", title: "a waiter of the same client", group: "wake", callers: 1, clients: 1, length: 2},
}

// admits tells whether a primitive can be measured in the scenario.
func (s scenario) admits(p library.Primitive) bool {
	switch s.group {
	case "own":
		return p.Own
	case "one":
		return p.Hot
	}
	return p.Wakes
}

// on adapts the scenario to a network, and the number of rounds with it: a block that is much longer is run less often.
func (s scenario) on(network Network, rounds int) (scenario, int) {
	if !network.Slow || s.slow == 0 {
		return s, rounds
	}
	s.length *= s.slow
	if s.slow > 2 {
		rounds = min(rounds, 3)
	}
	return s, rounds
}

func (s scenario) floor() string {
	if s.group == "own" {
		return library.OwnKeyFloor
	}
	return library.OneKeyFloor
}

// takesPart tells whether a library can do the scenario.
func (s scenario) takesPart(l library.Library) bool {
	if s.group == "own" {
		return l.Name != library.OneKeyFloor // which is for keys that are shared
	}
	return l.Contends
}

// key is of one library in one scenario: they never meet. All are of one length, for it is on the wire.
func (s scenario) key(network, library string) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%s/%s", network, s.name, library)
	return fmt.Sprintf("%s%08x", prefix, h.Sum32())
}

// prefix is that of all keys of the benchmarks.
const prefix = "redlatch-bench:"
