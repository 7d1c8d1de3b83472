//go:build race

package redlatch_test

// The race detector knows no more than 8128 goroutines at a time, and makes pools forget at random.
const (
	crowd       = 4_000
	poolsForget = true
)
