package fleet

import (
	"strings"

	"github.com/redlatch/redlatch/internal/errs"
)

// A Kind says what an object is, as errors and events call it.
type Kind string

// The kinds. An entry of the registry may name another one, which a later version has.
const (
	Detect          Kind = "" // for Get: what Redis has under the name; of an Object: nothing is there that tells
	Lock            Kind = "lock"
	FairLock        Kind = "fair lock"
	FencedLock      Kind = "fenced lock"
	SpinLock        Kind = "spin lock"
	ReadWriteLock   Kind = "read-write lock"
	GroupLock       Kind = "group lock"
	Semaphore       Kind = "semaphore"
	PermitSemaphore Kind = "permit semaphore"
	Latch           Kind = "latch"
)

// The sides of a read-write lock, as errors, events and entries call them. Get takes them for the whole lock.
const (
	ReadLock  Kind = "read lock"
	WriteLock Kind = "write lock"
)

// redlock is for what the waiters of a redlock wait, by their entries. On each server it is a lock.
const redlock Kind = "redlock"

// packages are the kinds by the names of their packages.
var packages = map[string]Kind{
	"rlock": Lock, "fairlock": FairLock, "fencedlock": FencedLock, "spinlock": SpinLock, "rwlock": ReadWriteLock,
	"semaphore": Semaphore, "permitsemaphore": PermitSemaphore, "countdownlatch": Latch,
}

// Kinds are all kinds that an object can have, but Detect.
func Kinds() []Kind {
	return []Kind{Lock, FairLock, FencedLock, SpinLock, ReadWriteLock, GroupLock, Semaphore, PermitSemaphore, Latch}
}

// ParseKind reads the name of a kind, or that of its package: "fair lock" or "fairlock". An empty text and "detect" are Detect.
func ParseKind(text string) (Kind, error) {
	if text == "" || text == "detect" {
		return Detect, nil
	}
	if kind, ok := packages[text]; ok {
		return kind, nil
	}
	if kind := Kind(text).whole(); kind.shape() != unknown {
		return kind, nil
	}
	known := make([]string, 0, len(Kinds()))
	for _, kind := range Kinds() {
		known = append(known, string(kind))
	}
	return Detect, errs.Wrong("%q is no kind of object; the kinds are %s", text, strings.Join(known, ", "))
}

// whole is the kind of the object of which k may be a side, or another name.
func (k Kind) whole() Kind {
	switch k {
	case ReadLock, WriteLock:
		return ReadWriteLock
	case redlock:
		return Lock
	}
	return k
}

// entryKinds are the kinds under which entries may have an object of this one: what has the same form in Redis. For Detect all.
func (k Kind) entryKinds() []Kind {
	switch k.shape() {
	case unknown:
		return append(Kinds(), ReadLock, WriteLock, redlock)
	case owners:
		return []Kind{Lock, FairLock, FencedLock, SpinLock, redlock}
	case sides:
		return []Kind{ReadLock, WriteLock, ReadWriteLock}
	default:
		return []Kind{k}
	}
}

// A shape is the form that an object has in Redis. Kinds that share one cannot be told apart by the key alone.
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

// shape is that of an object of this kind.
func (k Kind) shape() shape {
	switch k {
	case Lock, FairLock, FencedLock, SpinLock:
		return owners
	case ReadWriteLock, ReadLock, WriteLock:
		return sides
	case GroupLock:
		return values
	case Semaphore, PermitSemaphore, Latch:
		return number
	}
	return unknown
}
