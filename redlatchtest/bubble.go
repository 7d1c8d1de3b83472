package redlatchtest

import (
	"testing"
	"testing/synctest"
)

// Bubble runs test on fake time, in a bubble of testing/synctest that has a server: leases and waits of hours take no time,
// and are exact. The clock goes on when all goroutines of the test wait. The server is one of [Run], in memory, and its clients
// need no socket.
//
// The *testing.T of the test is the bubble's. What t.Run, t.Parallel and t.Deadline do not do in a bubble is said by
// [synctest.Test]. The goroutines that a test starts must end with it. Holds need not be given back; a hold that is dropped is
// not reported, for the garbage collector is outside of the bubble.
func Bubble(t *testing.T, test func(t *testing.T, server *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, Run(t))
	})
}
