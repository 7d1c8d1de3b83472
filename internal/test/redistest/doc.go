// Package redistest gives tests the Redis servers they run against.
//
//   - Each runs a test twice: on miniredis, which is always there, and on a real server.
//   - Mini and Real are the two separately; Process is a real server that the test may stop, continue, kill and restart.
//   - Cluster, Replicated and Sentinel are real topologies.
//   - InMemory is miniredis without a socket, for use inside a testing/synctest bubble.
//   - Long and Rounds keep what takes long for REDLATCH_LONG=1, which .ci/run sets.
//   - Main is the TestMain of every package: it fails when a goroutine outlives the tests.
//
// A real server is a process of the test's own, started by package servers: that takes about 15 ms, so nothing is shared
// and no test has to leave room for another. REDLATCH_REDIS_URL names a server to use in its place where one server
// suffices (Each, Real); there every test keeps to keys of its own, which is what Server.Name is for. With neither
// the test is skipped with a sentence, or fails where REDLATCH_REQUIRE_REAL=1.
//
// This is test support: nothing but tests may import it.
package redistest
