// Package jitter is the chance by which waits differ, so that processes that saw the same thing do not all ask in the
// same millisecond. A simulation puts a source of its own in its place, so that a run can be repeated.
package jitter

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

var source atomic.Pointer[func(n int64) int64]

// Below returns a duration that is less than d, which is positive.
func Below(d time.Duration) time.Duration {
	if f := source.Load(); f != nil {
		return time.Duration((*f)(int64(d)))
	}
	return rand.N(d)
}

// Replace has Below ask f, which answers from 0 to below n, until restore is called. f may be called by any goroutine.
func Replace(f func(n int64) int64) (restore func()) {
	before := source.Swap(&f)
	return func() { source.Store(before) }
}
