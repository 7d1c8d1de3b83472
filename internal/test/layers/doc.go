// Package layers keeps the map of this module: which package may import which. Its test reads the sources and compares.
// It also keeps what goes with the map: every package says what it is for, none is a drawer for odds and ends, and a
// long file says why it is long.
//
// The layers, each standing only on those above it:
//
//	leaves      errors, settings, names of keys, and the engines, which know nothing of Redis
//	edge        scripts and the way to the server
//	front       the root package: what all primitives share, as users see it
//	bases       the life of a hold, the life of a counter
//	primitives  one package each, which do not import one another
//	composites  locks made of locks
//	fleet       who holds what in all processes, read from outside
//	programs    the command and the examples
//
// A new package starts with its row in the table of layers_test.go.
package layers
