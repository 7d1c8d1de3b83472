//go:build !race

package suite_test

const crowd = 10_000
