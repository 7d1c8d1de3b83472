//go:build !race

package redlatch_test

const crowd = 10_000
