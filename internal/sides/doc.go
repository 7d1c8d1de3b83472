// Package sides has the ways in which the two sides of a read-write lock are acquired and given back.
//
// # Two sides
//
// A lock with two sides is two kinds with one key. An owner has one side, one count and one ticket. A holder
// that writes and reads is two owners of one identity, the host and its guest. Each is renewed, lost and
// given back by itself.
//
// The guest has an identity that was not minted for it, so a second guest of the same host could be harmed by
// commands of the first that are executed late. It gets the host's identity only if every command of the one
// before it was answered, and otherwise one of its own, beside which the host's field is named in the
// acquisition.
//
// # Readers
//
// Readers of one process are one reader to Redis: the first of them acquires, and the others join what it
// holds and leave it again without a command. How far such a tenure is, and what Redis counts of its holds,
// is its [cohort.Share].
//
// A reader joins only what it could have acquired for itself: the news has to be fresh, as for a local
// hand-off, and the streak not over. When one of the two is old, a script asks whether the process still
// reads, which is news, and whether others wait. If no other process does a new streak begins with the same
// owner; else the tenure is closed, and when its last hold is given back the lock is left to the others.
//
// An Unlock that leaves other holds of its owner behind says nil, so it needs fresh news as well, and else
// the same script. Those that come while another has it under way share its answer.
package sides
