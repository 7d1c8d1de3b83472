// Package sim runs the whole library in one process, on fake time: clients with connections of their own, servers in
// memory, and a network between them that delays, loses and repeats what it carries. A plan says what the clients do and
// what happens to them, and a number, the seed, gives the plan. What the clients saw comes out as a history, which
// package judge judges.
//
// Fake time comes from testing/synctest, so Run must be called inside a bubble, and the commands of this package are
// tests:
//
//	go -C proof test ./internal/sim -run TestSimulation -args -seeds 1000     # many plans, each with its own seed
//	go -C proof test ./internal/sim -run TestSimulation -args -seed 4711      # one of them again
//	go -C proof test ./internal/sim -run TestSimulation -args -plan FILE      # a plan that was made smaller
//
// The plan is a function of the seed. What happens is nearly one: each thing that the network carries arrives at an
// instant of its own, so at most instants one goroutine runs. Where two run at one instant the Go scheduler decides.
package sim
