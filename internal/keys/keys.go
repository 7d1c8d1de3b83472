// Package keys builds the names of keys and channels exactly as Redisson does, so that both see the same
// objects.
package keys

import (
	"strconv"
	"strings"
)

// Tag is the part that puts every key and channel of one object into one cluster slot: the name itself when
// it has a brace already, else the name in braces. So the objects n and {n} have one tag, and share what
// Redisson names by it: the queue of a fair lock, the permits of an expirable semaphore, the markers of
// Java's readers, the counter of tokens, and channels.
func Tag(name string) string {
	if strings.Contains(name, "{") {
		return name
	}
	return "{" + name + "}"
}

// Prefixed is the shape prefix:{name}.
func Prefixed(prefix, name string) string { return prefix + ":" + Tag(name) }

// Own is Prefixed for what Redisson does not know. Prefixed is the same for n and {n}, which are two objects,
// and the one must not be passed to who waits for the other: a name with a brace of its own gets a second
// colon.
func Own(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + "::" + name
	}
	return Prefixed(prefix, name)
}

// Suffixed is the shape {name}:suffix.
func Suffixed(name, suffix string) string { return Tag(name) + ":" + suffix }

// LockChannel is where plain, fenced and non-reentrant locks announce a release. A fair waiter's own channel
// is this with its owner appended.
func LockChannel(name string) string { return Prefixed("redisson_lock__channel", name) }

// ReadWriteChannel is where both sides of a read-write lock announce a release.
func ReadWriteChannel(name string) string { return Prefixed("redisson_rwlock", name) }

// SemaphoreChannel is where both kinds of semaphore announce permits.
func SemaphoreChannel(name string) string { return Prefixed("redisson_sc", name) }

// LatchChannel is where a count-down latch announces zero. Alone of all names it is put into braces even if
// it has some, and without a colon.
func LatchChannel(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }

// FencingToken is the counter of a fenced lock.
func FencingToken(name string) string { return Prefixed("redisson_lock_token", name) }

// LockRow is the process queue of a plain or fenced lock. A process hears on the channel
// of this name, with a colon and its session appended, that the lock was passed to it.
func LockRow(name string) string { return Own("redlatch_lock_row", name) }

// LockRowKeys are the keys that go with LockRow, which is the first of them, in the order in which scripts
// declare them: until when each process is known to be there, for how long the lock is left to outsiders, and
// how often it was.
func LockRowKeys(name string) []string {
	return []string{LockRow(name), Own("redlatch_lock_alive", name), Own("redlatch_lock_open", name),
		Own("redlatch_lock_windows", name)}
}

// GroupRow is the process queue of a set of values of a group, of which set is a hash.
func GroupRow(name, set string) string { return Own("redlatch_group_row", name) + ":" + set }

// SemaphoreRow is where the processes of this library stand that wait for a semaphore. A process hears on the
// channel of this name, with a colon and its session appended, that it is to look.
func SemaphoreRow(name string) string { return Own("redlatch_semaphore_row", name) }

// ReadWriteRow is the process queue of a read-write lock. A process hears on the channel of this name, with a
// colon and its session appended, that it is to ask.
func ReadWriteRow(name string) string { return Own("redlatch_rwlock_row", name) }

// Forced are the notices that are left for owners from whom it was taken away by force.
func Forced(name string) string { return Own("redlatch_forced", name) }

// Guard is the greatest token that the guard of a fenced lock has seen.
func Guard(name string) string { return Own("redlatch_guard", name) }

// GuardOwner is the owner who has shown that token first.
func GuardOwner(name string) string { return Own("redlatch_guard_owner", name) }

// Writers is where processes announce writers that wait for a read-write lock.
func Writers(name string) string { return Own("redlatch_rwlock_writers", name) }

// Readers is the list of this library's readers of a read-write lock, Strangers the record of Redisson's that
// read without a marker.
func Readers(name string) string   { return Own("redlatch_rwlock_readers", name) }
func Strangers(name string) string { return Own("redlatch_rwlock_strangers", name) }

// Moving is the name of a key that is never there. A server whose slot moves refuses a script that declares
// it, before the first write: what a script has deleted it could not touch again there.
func Moving(name string) string { return Own("redlatch_moving", name) }

// FairQueue is the list of a fair lock's waiters, FairTimeouts the sorted set of their deadlines.
func FairQueue(name string) string    { return Prefixed("redisson_lock_queue", name) }
func FairTimeouts(name string) string { return Prefixed("redisson_lock_timeout", name) }

// FairAlive is the sorted set in which this library's fair waiters say until when they are known to be alive.
// It goes with the queue: locks that share that share this.
func FairAlive(name string) string { return Prefixed("redlatch_lock_alive", name) }

// FairRow is no key. A process hears on the channel of this name, with a colon and its session appended,
// which of its fair waiters was handed the lock, or is to ask.
func FairRow(name string) string { return Own("redlatch_fair_row", name) }

// PermitTimeouts is the sorted set of the permits of an expirable semaphore.
func PermitTimeouts(name string) string { return Suffixed(name, "timeout") }

// ReadMarker is the marker of one read hold of an owner, counted from 1. It is Suffixed for who has the tag
// at hand.
func ReadMarker(tag, owner string, hold int) string {
	return tag + ":" + owner + ":rwlock_timeout:" + strconv.Itoa(hold)
}

// Lanes is the private hash in which one session remembers its last operations on a counter, so that a
// command that is executed twice takes effect once.
func Lanes(name, session string) string { return Own("redlatch_lanes", name) + ":" + session }

// LatchRecord is the hash that says which time a latch is set, and how it ended.
func LatchRecord(name string) string { return Own("redlatch_latch", name) }

// FitsCluster reports whether everything derived from name falls into the slot of name. Names with braces
// that do not enclose a non-empty tag do not, and a server would answer CROSSSLOT half-way.
func FitsCluster(name string) bool {
	open := strings.IndexByte(name, '{')
	if open < 0 {
		return !strings.Contains(name, "}")
	}
	return strings.IndexByte(name[open+1:], '}') > 0
}
