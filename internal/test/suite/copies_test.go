package suite_test

import (
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// vetFinds tells whether go vet finds copies of the type, by the rule of its check copylocks.
func vetFinds(of reflect.Type) bool {
	locker := reflect.TypeFor[sync.Locker]()
	switch {
	case reflect.PointerTo(of).Implements(locker) && !of.Implements(locker):
		return true
	case of.Kind() == reflect.Array:
		return vetFinds(of.Elem())
	case of.Kind() == reflect.Struct:
		for i := range of.NumField() {
			if vetFinds(of.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

func TestVetFindsCopiesOfWhatTheProgramIsGivenAPointerTo(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[redlatch.Hold](), reflect.TypeFor[permitsemaphore.Permit](),
		reflect.TypeFor[rlock.Lock](), reflect.TypeFor[fairlock.Lock](), reflect.TypeFor[spinlock.Lock](), reflect.TypeFor[rwlock.Lock](),
		reflect.TypeFor[rwlock.Side](), reflect.TypeFor[fencedlock.Lock](), reflect.TypeFor[fencedlock.Guard](),
		reflect.TypeFor[fencedlock.Writer](), reflect.TypeFor[multilock.Lock](), reflect.TypeFor[multilock.Group](), reflect.TypeFor[redlock.Lock](), reflect.TypeFor[semaphore.Semaphore](),
		reflect.TypeFor[permitsemaphore.Semaphore](), reflect.TypeFor[countdownlatch.Latch](),
		reflect.TypeFor[redlatchtest.Server](),
	} {
		require.True(t, vetFinds(of), of)
	}
	require.False(t, vetFinds(reflect.TypeFor[redlatch.Event]()))
}
