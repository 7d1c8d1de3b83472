package redlatch

import "strings"

// A Kind is what a primitive is, in a word that suits as a label. [Info], [Event] and package fleet have it,
// the entries of the registry, the JSON of the command, and the logs. In a sentence write its Noun. Later
// versions may have more kinds.
type Kind string

// The kinds. A read-write lock is told of by its sides, where it is known which one is meant.
const (
	KindLock            Kind = "lock" // of package rlock
	KindFairLock        Kind = "fair_lock"
	KindFencedLock      Kind = "fenced_lock"
	KindSpinLock        Kind = "spin_lock"
	KindReadWriteLock   Kind = "read_write_lock"
	KindReadLock        Kind = "read_lock"
	KindWriteLock       Kind = "write_lock"
	KindGroupLock       Kind = "group_lock"
	KindMultiLock       Kind = "multi_lock"
	KindRedlock         Kind = "redlock"
	KindSemaphore       Kind = "semaphore"
	KindPermitSemaphore Kind = "permit_semaphore"
	KindLatch           Kind = "latch"
	KindGuard           Kind = "guard" // of a fenced lock
)

// Noun is the kind as a sentence has it, without an article: "fair lock", "read-write lock".
func (k Kind) Noun() string {
	switch k { // without an allocation, for the error of a call that asks often
	case KindFairLock:
		return "fair lock"
	case KindFencedLock:
		return "fenced lock"
	case KindSpinLock:
		return "spin lock"
	case KindReadWriteLock:
		return "read-write lock"
	case KindReadLock:
		return "read lock"
	case KindWriteLock:
		return "write lock"
	case KindGroupLock:
		return "group lock"
	case KindMultiLock:
		return "multi-lock"
	case KindPermitSemaphore:
		return "permit semaphore"
	}
	return strings.ReplaceAll(string(k), "_", " ")
}
