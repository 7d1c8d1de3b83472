// Package redlatchtest is for the tests of programs that use redlatch.
//
//   - [Run] gives a test a server in memory, or a real one, with clients that stand for processes. The test decides what goes
//     wrong: a reply is lost, the server hangs, a lock is stolen. [Bubble] does the same on fake time.
//   - [NewLocker] makes a lock in memory for unit tests of code that takes a [redlatch.Locker], and [NewHold] a single hold. They
//     send nothing.
//   - [NothingHeld] finds what a test has not given back.
//
// The page docs/testing.md of the module shows how they are used. Only tests should import this package: it links a server.
package redlatchtest
