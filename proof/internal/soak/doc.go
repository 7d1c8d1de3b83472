// Package soak runs the library in several real processes against real servers, does harm to both, and leaves a folder
// that package verdict can judge.
//
// The process that is started plans and does the harm; it starts its own program again for each worker. A worker makes
// its calls through a proxy of its own and writes a journal of its own, each call before it is made. What a worker does
// per call is that of the simulation (sim.Actor). Every few seconds all workers go on to objects with fresh names, so
// that the history of each object is short, and what a killed worker has left behind is in nobody's way.
//
// One more worker is the calm lane: it has a server of its own, nothing is done to it, and when it stalls the machine
// was too busy for the run to say anything.
package soak
