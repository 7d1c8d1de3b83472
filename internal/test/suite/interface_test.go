package suite_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// Every lock has the same methods, although no public interface demands it.
var _ = []locktest.Lock{
	(*rlock.Lock)(nil), (*fairlock.Lock)(nil), (*rwlock.Lock)(nil), (*rwlock.Side)(nil), (*spinlock.Lock)(nil), (*fencedlock.Lock)(nil),
	(*multilock.Lock)(nil), (*multilock.Group)(nil), (*redlock.Lock)(nil),
}

// Each method more would be missing from the types of programs that have these by now. What is new becomes a kind of event, or a method of
// the locks.
func TestTheInterfacesThatProgramsImplementDoNotGrow(t *testing.T) {
	for of, methods := range map[reflect.Type][]string{
		reflect.TypeFor[redlatch.Locker]():    {"Lock", "Name", "TryLock"},
		reflect.TypeFor[redlatch.Inspector](): {"Inspect", "Name"},
		reflect.TypeFor[redlatch.Observer]():  {"Observe", "WaitEnd", "WaitStart"},
		reflect.TypeFor[redlatch.Client]():    {"Pipeline", "Process", "SSubscribe", "Subscribe"},
	} {
		var has []string
		for i := range of.NumMethod() {
			has = append(has, of.Method(i).Name)
		}
		require.Equal(t, methods, has, of.String())
	}
}
