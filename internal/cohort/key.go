package cohort

import "hash/maphash"

// A Key names a cohort: waiters for the same key in Redis that cannot stand in for one another wait in different cohorts.
type Key struct {
	key  string
	kind string
	hash hash
}

// KeyFor is the key of a cohort for a key in Redis and a kind: the primitive, and the side where it has two.
func KeyFor(key, kind string) Key {
	return Key{key, kind, hash(maphash.String(seed, key) + 31*maphash.String(seed, kind))}
}

// A hash stands for a key in the table of holders. Ten thousand holds are as many holders, in which the names, which the
// cohorts need for themselves, would take three times as much room. Two names of one hash, out of 2^64, would be mistaken
// for each other at worst by a call for the one while the other is held: the call asks a poll interval late.
type hash uint64

var seed = maphash.MakeSeed()
