//go:build lockorder

package lockorder

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// complaints has fail say what is wrong, and go on.
func complaints(t *testing.T) func() []string {
	t.Setenv("REDLATCH_LOCKORDER", "") // what this package does is no use of the table
	before := fail
	t.Cleanup(func() { fail = before })
	var said []string
	fail = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	return func() []string {
		all := said
		said = nil
		return all
	}
}

func TestTheTableHasNoCircle(t *testing.T) {
	below := map[reflect.Type][]reflect.Type{}
	for _, r := range table {
		require.NotEmpty(t, r.why)
		held, taken := reflect.TypeOf(r.held), reflect.TypeOf(r.taken)
		require.False(t, leaves[held] || leaves[taken], "%v %v: leafs need no row", held, taken)
		if held != taken {
			below[held] = append(below[held], taken)
		}
	}
	over := map[reflect.Type]bool{}
	var visit func(class reflect.Type, above []string)
	visit = func(class reflect.Type, above []string) {
		above = append(above, class.Name())
		require.NotContains(t, above[:len(above)-1], class.Name(), strings.Join(above, " -> "))
		if !over[class] {
			for _, next := range below[class] {
				visit(next, above)
			}
		}
		over[class] = true
	}
	for class := range below {
		visit(class, nil)
	}
	require.Len(t, allowed, len(table), "a row twice")
}

func TestTheOrderOfTwoMutexesIsChecked(t *testing.T) {
	said := complaints(t)
	var registry Mutex[Registry]
	var queue, other Mutex[Queue]
	var clock Mutex[Clock]
	registry.Lock()
	queue.Lock()
	clock.Lock()
	clock.Unlock()
	queue.Unlock()
	registry.Unlock()
	require.Empty(t, said())

	queue.Lock()
	registry.Lock()
	all := said()
	require.Len(t, all, 1)
	require.Contains(t, all[0], "Registry is taken under Queue")
	require.Equal(t, 2, strings.Count(all[0], "checked_test.go:"), "both places: %s", all[0])
	registry.Unlock()

	other.Lock()
	require.Contains(t, said()[0], "Queue is taken under Queue")
	other.Unlock()
	require.True(t, registry.TryLock(), "which does not block")
	require.False(t, other.TryLock() && other.TryLock())
	require.Empty(t, said())
	other.Unlock()
	registry.Unlock()
	queue.Unlock()
	require.Empty(t, mine())
}

func TestWhatOtherGoroutinesHaveIsNotCounted(t *testing.T) {
	said := complaints(t)
	var queue Mutex[Queue]
	var registry Mutex[Registry]
	queue.Lock()
	var done sync.WaitGroup
	done.Go(func() {
		registry.Lock()
		registry.Unlock()
		Unlocked("a command is sent")
	})
	done.Wait()
	queue.Unlock()
	require.Empty(t, said())
}

func TestAMutexTakenTwiceIsToldBeforeItBlocks(t *testing.T) {
	said := complaints(t)
	queue := new(Mutex[Queue])
	queue.Lock()
	takes(classOf[Queue](), queue)
	require.Contains(t, said()[0], "taken twice")
	queue.Unlock()
}

func TestNothingLongIsDoneUnderAMutex(t *testing.T) {
	said := complaints(t)
	var queue Mutex[Queue]
	owner := new(int)
	Unlocked("a command is sent")
	Has[Send](owner)
	Unlocked("a command is sent")
	require.Empty(t, said(), "the send lock is there for that")
	Gone[Send](owner)
	queue.Lock()
	require.Empty(t, said())
	Unlocked("a command is sent")
	require.Contains(t, said()[0], "a command is sent, while Queue is held")
	Waits[Attempt](owner)
	require.Contains(t, said()[0], "Attempt is waited for under a mutex, Queue")
	queue.Unlock()
}

func TestALockThatIsNoMutexGoesFromGoroutineToGoroutine(t *testing.T) {
	said := complaints(t)
	owner := new(int)
	Has[Send](owner)
	Waits[Send](owner)
	require.Contains(t, said()[0], "Send is taken twice")
	var done sync.WaitGroup
	done.Go(func() { Gone[Send](owner) })
	done.Wait()
	Waits[Send](owner)
	require.Empty(t, said())
	Has[Attempt](owner)
	Waits[Send](new(int))
	require.Empty(t, said(), "that has a row")
	Gone[Attempt](owner)
	Has[Send](owner)
	Waits[Attempt](new(int))
	require.Contains(t, said()[0], "Attempt is taken under Send")
	Gone[Send](owner)
}

func TestARowThatNothingUsesIsTold(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range table {
		seen[pair{reflect.TypeOf(r.held), reflect.TypeOf(r.taken)}.String()] = true
	}
	require.Empty(t, Unseen(seen))
	delete(seen, "Registry Queue")
	rows := Unseen(seen)
	require.Len(t, rows, 1)
	require.True(t, strings.HasPrefix(rows[0], "Registry Queue: "), rows)
}
