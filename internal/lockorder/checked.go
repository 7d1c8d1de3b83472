//go:build lockorder

package lockorder

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Mutex of a class.
type Mutex[C Class] struct{ mu sync.Mutex }

func (m *Mutex[C]) Lock() {
	takes(classOf[C](), m)
	m.mu.Lock()
	has(classOf[C](), m, true)
}

// TryLock does not block, so it may be called in any order.
func (m *Mutex[C]) TryLock() bool {
	locked := m.mu.TryLock()
	if locked {
		has(classOf[C](), m, true)
	}
	return locked
}

func (m *Mutex[C]) Unlock() {
	gone(classOf[C](), m)
	m.mu.Unlock()
}

// Unlocked ends the process if the goroutine has a mutex.
func Unlocked(what string) {
	for _, h := range mine() {
		if h.mutex {
			fail("%s, while %s is held, which was taken\n%s\nand now\n%s", what, h.class.Name(), h.stack, here())
		}
	}
}

// Waits says that the goroutine may block for a lock that is no mutex.
func Waits[C Class, T any](lock *T) { waits(classOf[C](), lock) }

// Has says that the goroutine has it.
func Has[C Class, T any](lock *T) { has(classOf[C](), lock, false) }

// Gone says that it is given back, or given to another goroutine. It may be called by any.
func Gone[C Class, T any](lock *T) { gone(classOf[C](), lock) }

func classOf[C Class]() reflect.Type { return reflect.TypeFor[C]() }

// A held is a lock that a goroutine has.
type held struct {
	class reflect.Type
	lock  any // a pointer
	mutex bool
	stack stack
}

// holders are the goroutines that have locks, by number, in parts that do not wait for one another.
var holders [64]struct {
	mu sync.Mutex
	of map[uint64][]held
}

// mine is what this goroutine has.
func mine() []held {
	id := goroutine()
	part := &holders[id%uint64(len(holders))]
	part.mu.Lock()
	defer part.mu.Unlock()
	return slices.Clone(part.of[id])
}

// takes checks that a mutex may be taken under those that the goroutine has. It may be taken under any other
// lock: commands are sent under these, so whatever is behind their doors is.
func takes(class reflect.Type, mutex any) {
	for _, h := range mine() {
		if h.mutex {
			check(h, class, mutex)
		}
	}
	for range rand.N(4) {
		runtime.Gosched()
	}
}

// waits checks that a lock which is no mutex may be taken under those that the goroutine has.
func waits(class reflect.Type, lock any) {
	for _, h := range mine() {
		if h.mutex {
			fail("%s is waited for under a mutex, %s, which was taken\n%s\nand now\n%s", class.Name(), h.class.Name(),
				h.stack, here())
			continue
		}
		check(h, class, lock)
	}
}

func check(h held, class reflect.Type, lock any) {
	p := pair{h.class, class}
	switch {
	case h.class == class && h.lock == lock:
		fail("%s is taken twice: first\n%s\nand now\n%s", class.Name(), h.stack, here())
	case leaves[class]:
	case !allowed[p]:
		fail("%s is taken under %s, and internal/lockorder/table.go has no row for that: first\n%s\nand now\n%s",
			class.Name(), h.class.Name(), h.stack, here())
	default:
		see(p)
	}
}

func has(class reflect.Type, lock any, mutex bool) {
	id := goroutine()
	part := &holders[id%uint64(len(holders))]
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.of == nil {
		part.of = map[uint64][]held{}
	}
	part.of[id] = append(part.of[id], held{class, lock, mutex, here()})
}

// gone looks for the lock with this goroutine first: it may have been given to another one already, which
// says so.
func gone(class reflect.Type, lock any) {
	id := goroutine()
	if drop(class, lock, id, id) {
		return
	}
	for i := range holders {
		if drop(class, lock, uint64(i), 0) {
			return
		}
	}
}

// drop looks for a lock in the part of a goroutine: of this one alone, or of all if that is 0.
func drop(class reflect.Type, lock any, near, one uint64) bool {
	part := &holders[near%uint64(len(holders))]
	part.mu.Lock()
	defer part.mu.Unlock()
	for id, all := range part.of {
		at := slices.IndexFunc(all, func(h held) bool { return h.class == class && h.lock == lock })
		switch {
		case at < 0, one != 0 && id != one:
			continue
		case len(all) == 1:
			delete(part.of, id)
		default:
			part.of[id] = slices.Delete(all, at, at+1)
		}
		return true
	}
	return false
}

// goroutine is the number of this one.
func goroutine() uint64 {
	var buffer [64]byte
	text := bytes.TrimPrefix(buffer[:runtime.Stack(buffer[:], false)], []byte("goroutine "))
	id, _ := strconv.ParseUint(string(text[:bytes.IndexByte(text, ' ')]), 10, 64)
	return id
}

// A stack is where a lock was taken.
type stack [24]uintptr

func here() (s stack) {
	runtime.Callers(4, s[:])
	return s
}

func (s stack) String() string {
	var text strings.Builder
	for frames := runtime.CallersFrames(s[:]); ; {
		f, more := frames.Next()
		if f.Function != "" {
			fmt.Fprintf(&text, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return text.String()
		}
	}
}

// fail ends the process. A panic would not do: what hooks and observers panic with is caught.
var fail = func(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, "lockorder: "+format+"\n", args...)
	os.Exit(2)
}

// seen are the pairs that were written.
var seen sync.Map

// see writes a pair to the file of the run, if there is one, when it comes for the first time.
func see(p pair) {
	if _, known := seen.LoadOrStore(p, true); known {
		return
	}
	name := os.Getenv("REDLATCH_LOCKORDER")
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(file, p)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		fail("%v", err)
	}
}
