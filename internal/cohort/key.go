package cohort

import "hash/maphash"

// A Key names a cohort: waiters for the same key in Redis that cannot stand in for one another wait in
// different cohorts.
type Key struct {
	key  string
	kind string
	hash hash
}

// KeyFor is the key of a cohort for a key in Redis and a kind: the primitive, and the side where it has two.
func KeyFor(key, kind string) Key {
	return Key{key, kind, hash(maphash.String(seed, key) + 31*maphash.String(seed, kind))}
}

// Name is the key in Redis, and Kind what KeyFor was given with it.
func (k Key) Name() string { return k.key }
func (k Key) Kind() string { return k.kind }

// A hash stands for a key in the table of holders. There may be ten thousand holders, and the names would
// take three times as much room. Two names may have the same one of 2^64 hashes. At worst a call for the one
// then takes the hold of the other for its own, and asks a poll interval late.
type hash uint64

var seed = maphash.MakeSeed()
