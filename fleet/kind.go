package fleet

import (
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// Detect stands for whatever Redis has under a name, for [Get]. Of an [Object] it says that nothing is there
// that tells the kind.
const Detect redlatch.Kind = ""

// A kindRow is what there is to know of a kind.
type kindRow struct {
	kind  redlatch.Kind
	shape shape
	side  string // of a read-write lock; empty where the kind is that of a whole object
	of    string // the package; empty where it has none of its own

	// open is the primitive with this name; nil where there is none by the name alone
	open func(client redlatch.Client, name string, opts []redlatch.Option) redlatch.Inspector
}

// kinds are those of which Redis has objects, in the order in which people are told of them.
var kinds = []kindRow{
	{redlatch.KindLock, owners, "", "rlock", opens(rlock.New)},
	{redlatch.KindFairLock, owners, "", "fairlock", opens(fairlock.New)},
	{redlatch.KindFencedLock, owners, "", "fencedlock", opens(fencedlock.New)},
	{redlatch.KindSpinLock, owners, "", "spinlock", opens(spinlock.New)},
	{redlatch.KindReadWriteLock, sides, "", "rwlock", opens(rwlock.New)},
	{redlatch.KindGroupLock, values, "", "", nil},
	{redlatch.KindSemaphore, number, "", "semaphore", opens(semaphore.New)},
	{redlatch.KindPermitSemaphore, number, "", "permitsemaphore", opens(permitsemaphore.New)},
	{redlatch.KindLatch, number, "", "countdownlatch", opens(countdownlatch.New)},
	{redlatch.KindReadLock, sides, "read", "", nil},
	{redlatch.KindWriteLock, sides, "write", "", nil},
}

// opens is a constructor of a package as a row has it.
func opens[P redlatch.Inspector](construct func(redlatch.Client, string, ...redlatch.Option) P) func(redlatch.Client,
	string, []redlatch.Option) redlatch.Inspector {
	return func(client redlatch.Client, name string, opts []redlatch.Option) redlatch.Inspector {
		return construct(client, name, opts...)
	}
}

// rowFor is what there is to know of k; nothing if Redis has no objects of that kind.
func rowFor(k redlatch.Kind) kindRow {
	for _, row := range kinds {
		if row.kind == k {
			return row
		}
	}
	return kindRow{}
}

// Kinds are all kinds that an object in Redis can have, but Detect.
func Kinds() (all []redlatch.Kind) {
	for _, row := range kinds {
		if row.side == "" {
			all = append(all, row.kind)
		}
	}
	return all
}

// ParseKind reads the kind of an object in Redis as a person types it: "fair_lock", "fair lock", or the name
// of the package, "fairlock". A side of a read-write lock is the whole lock. An empty text and "detect" are
// Detect.
func ParseKind(text string) (redlatch.Kind, error) {
	if text == "" || text == "detect" {
		return Detect, nil
	}
	for _, row := range kinds {
		if row.of == text {
			return row.kind, nil
		}
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
	switch {
	case sideOf(k) != "":
		return redlatch.KindReadWriteLock
	case k == redlatch.KindRedlock: // for what its waiters wait, by their entries; on each server it is a lock
		return redlatch.KindLock
	}
	return k
}

// sideOf is the side of a read-write lock that k is, or empty.
func sideOf(k redlatch.Kind) string { return rowFor(k).side }

// entryKinds are the kinds under which entries may have an object of this one: what has the same form in
// Redis. For Detect all.
func entryKinds(k redlatch.Kind) (some []redlatch.Kind) {
	form := shapeFor(k)
	if form == number || form == values { // the names of the keys beside them differ
		return []redlatch.Kind{k}
	}
	for _, row := range kinds {
		if form == unknown || row.shape == form {
			some = append(some, row.kind)
		}
	}
	if form != sides {
		some = append(some, redlatch.KindRedlock)
	}
	return some
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
func shapeFor(k redlatch.Kind) shape { return rowFor(k).shape }
