// Package suite has the tests of the whole module: those that need several primitives, or look at what all of them do.
package suite
