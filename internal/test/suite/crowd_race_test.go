//go:build race

package suite_test

// The race detector knows no more than 8128 goroutines at a time.
const crowd = 4_000
