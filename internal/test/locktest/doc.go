// Package locktest is the one suite that every lock runs: what redlatch.Locker and redlatch.Hold promise, seen from
// outside, on miniredis, on a real server, and on fake time.
//
//	func TestLock(t *testing.T) {
//		locktest.Exercise(t, newLock, locktest.Features{Reentrant: true, Exclusive: true, Watchdog: true, Messages: true})
//	}
//
// A new promise is a new case here. Cases that are about time run in a testing/synctest bubble, where a second costs
// nothing and a bound is exact; the others run on redistest.Each, where only the order of events is asserted.
//
// This is test support: nothing but tests may import it.
package locktest
