package interop_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
)

// lacks is what older versions of Redisson have not got, by the words of the tests, and why. Cases that need it are not
// run with these, which the end of the run says; whatever else is missing fails.
var lacks = func() map[string]map[string]string {
	older := map[string]string{
		"nonreentrant":     "getNonReentrantLock came with 4.4.0",
		"nonreentrantfair": "getNonReentrantFairLock came with 4.4.0",
	}
	old := maps.Clone(older)
	old["group"] = "getMultiLock(group, values) came after 3.27.2"
	old["fair lease"] = "a waiter in the queue of a fair lock looks again when its deadline comes, not when the lease ends that it waits for"
	old["freed reader"] = "the unlock of a read lock that was freed by force reports nothing"
	oldest := maps.Clone(old)
	oldest["held multi"] = "a multi-lock cannot be asked whether it is held"
	oldest["fenced"] = "getFencedLock came with 3.19.0"
	oldest["ended fair wait"] = "a wait for a fair lock that ends may leave its place in the queue behind"
	oldest["acquired"] = "acquiredPermits came after 3.17.7; Redis is asked instead"
	return map[string]map[string]string{"4.3.1": older, "3.52.0": older, "3.44.0": older, "3.27.2": old, "3.17.7": oldest}
}()

var absences sync.Map // what absent said yes to

// absent tells whether the Redisson at hand lacks something.
func absent(what string) bool {
	reason, is := lacks[os.Getenv(versionVariable)][what]
	if is {
		absences.Store(what+", because "+reason, nil)
	}
	return is
}

// tellAbsences says what was left out.
func tellAbsences() {
	all := map[string]bool{}
	absences.Range(func(what, _ any) bool {
		all[what.(string)] = true
		return true
	})
	for _, what := range slices.Sorted(maps.Keys(all)) {
		fmt.Printf("interop: with Redisson %s without %s\n", os.Getenv(versionVariable), what)
	}
}
