// Package parallel is a gate for what needs many processors at once: every primitive is used by many goroutines of two clients
// on eight threads, in calm, beside force-unlocks, and while replies are lost.
//
// What a lock guards is a plain variable, so with -race the race detector is a witness of exclusion. A watch counts progress in
// rounds of a control on the same machine and not in seconds: where the calls of a client stand still although the server
// answers and goroutines run, it writes the stacks of all goroutines. When the calls have ended nothing may stay: no element of
// the client's maps, no key, no goroutine.
//
//	go test -race ./internal/test/parallel                                  # a moment of each
//	go test -race ./internal/test/parallel -args -for 5s                    # five seconds of each primitive
//	go test -race ./internal/test/parallel -run 'Parallel/rwlock' -timeout 0 -args -for 10m
//
// Only its tests have code.
package parallel
