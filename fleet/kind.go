package fleet

import (
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
)

// Detect stands for whatever Redis has under a name, for [Get]. Of an [Object] it says that nothing is there
// that tells the kind.
const Detect redlatch.Kind = ""

// packages are the kinds by the names of their packages.
var packages = map[string]redlatch.Kind{
	"rlock": redlatch.KindLock, "fairlock": redlatch.KindFairLock, "fencedlock": redlatch.KindFencedLock,
	"spinlock": redlatch.KindSpinLock,
	"rwlock":   redlatch.KindReadWriteLock, "semaphore": redlatch.KindSemaphore,
	"permitsemaphore": redlatch.KindPermitSemaphore,
	"countdownlatch":  redlatch.KindLatch,
}

// Kinds are all kinds that an object in Redis can have, but Detect.
func Kinds() []redlatch.Kind {
	return []redlatch.Kind{
		redlatch.KindLock, redlatch.KindFairLock, redlatch.KindFencedLock, redlatch.KindSpinLock, redlatch.KindReadWriteLock,
		redlatch.KindGroupLock, redlatch.KindSemaphore, redlatch.KindPermitSemaphore, redlatch.KindLatch,
	}
}

// ParseKind reads the kind of an object in Redis as a person types it: "fair_lock", "fair lock", or the name
// of the package, "fairlock". A side of a read-write lock is the whole lock. An empty text and "detect" are
// Detect.
func ParseKind(text string) (redlatch.Kind, error) {
	if text == "" || text == "detect" {
		return Detect, nil
	}
	if kind, ok := packages[text]; ok {
		return kind, nil
	}
	kind := whole(redlatch.Kind(strings.NewReplacer(" ", "_", "-", "_").Replace(text)))
	if shapeFor(kind) != unknown {
		return kind, nil
	}
	known := make([]string, 0, len(Kinds()))
	for _, kind := range Kinds() {
		known = append(known, string(kind))
	}
	return Detect, errs.Wrong("%q is no kind of object; the kinds are %s", text, strings.Join(known, ", "))
}

// whole is the kind of the object of which k may be a side, or another name.
func whole(k redlatch.Kind) redlatch.Kind {
	switch k {
	case redlatch.KindReadLock, redlatch.KindWriteLock:
		return redlatch.KindReadWriteLock
	case redlatch.KindRedlock: // for what its waiters wait, by their entries; on each server it is a lock
		return redlatch.KindLock
	}
	return k
}

// sideOf is the side of a read-write lock that k is, or empty.
func sideOf(k redlatch.Kind) string {
	switch k {
	case redlatch.KindReadLock:
		return "read"
	case redlatch.KindWriteLock:
		return "write"
	}
	return ""
}

// entryKinds are the kinds under which entries may have an object of this one: what has the same form in
// Redis. For Detect all.
func entryKinds(k redlatch.Kind) []redlatch.Kind {
	switch shapeFor(k) {
	case unknown:
		return append(Kinds(), redlatch.KindReadLock, redlatch.KindWriteLock, redlatch.KindRedlock)
	case owners:
		return []redlatch.Kind{redlatch.KindLock, redlatch.KindFairLock, redlatch.KindFencedLock, redlatch.KindSpinLock,
			redlatch.KindRedlock}
	case sides:
		return []redlatch.Kind{redlatch.KindReadLock, redlatch.KindWriteLock, redlatch.KindReadWriteLock}
	default:
		return []redlatch.Kind{k}
	}
}

// A shape is the form that an object has in Redis. Kinds that share one cannot be told apart by the key
// alone.
type shape int

const (
	unknown shape = iota
	absent        // there is no key
	owners        // a hash of owners and their holds
	sides         // the same with a mode
	values        // a hash of values, their owners and deadlines
	number        // a decimal number
	foreign       // none of ours
)

// shapeFor is the form of an object of a kind.
func shapeFor(k redlatch.Kind) shape {
	switch k {
	case redlatch.KindLock, redlatch.KindFairLock, redlatch.KindFencedLock, redlatch.KindSpinLock:
		return owners
	case redlatch.KindReadWriteLock, redlatch.KindReadLock, redlatch.KindWriteLock:
		return sides
	case redlatch.KindGroupLock:
		return values
	case redlatch.KindSemaphore, redlatch.KindPermitSemaphore, redlatch.KindLatch:
		return number
	}
	return unknown
}
