//go:build !lockorder

package lockorder

import "sync"

// A Mutex of a class. It is a [sync.Mutex], unless the build has the tag lockorder.
type Mutex[C Class] struct{ sync.Mutex }

// Unlocked is where no mutex may be held: what follows may take long, or call the program, which may call
// anything.
func Unlocked(what string) {}

// Waits says that the goroutine may block for a lock that is no mutex.
func Waits[C Class, T any](lock *T) {}

// Has says that the goroutine has it.
func Has[C Class, T any](lock *T) {}

// Gone says that it is given back, or given to another goroutine. It may be called by any.
func Gone[C Class, T any](lock *T) {}
