package redlatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A witnessing observer notes what it is told, and of whose contexts it was given one.
type witnessing struct {
	name string
	told *[]string
	bad  string // what it panics at
}

type mine string

func (w witnessing) tell(ctx context.Context, what string) {
	seen := ""
	for _, name := range []string{"a", "b", "c"} {
		if ctx.Value(mine(name)) != nil {
			seen += name
		}
	}
	*w.told = append(*w.told, fmt.Sprintf("%s %s in %s", w.name, what, seen))
	if w.bad == what {
		panic(w.name)
	}
}

func (w witnessing) WaitStart(ctx context.Context, e redlatch.Event) context.Context {
	w.tell(ctx, string(e.Kind))
	return context.WithValue(ctx, mine(w.name), true)
}

func (w witnessing) WaitEnd(ctx context.Context, e redlatch.Event) { w.tell(ctx, string(e.Kind)) }
func (w witnessing) Observe(ctx context.Context, e redlatch.Event) { w.tell(ctx, string(e.Kind)) }

func TestSeveralObserversAreToldInOrderEachWithItsOwnContext(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	for bad, want := range map[string]struct {
		raises any
		told   []string
	}{
		"": {nil, []string{
			"a waiting in ", "b waiting in a", "c waiting in ab", "c acquired in abc", "b acquired in ab", "a acquired in a",
			"a released in ", "b released in ", "c released in ",
		}},
		"waiting":  {"b", []string{"a waiting in ", "b waiting in a", "a refused in a"}},
		"acquired": {"b", []string{"a waiting in ", "b waiting in a", "c waiting in ab", "c acquired in abc", "b acquired in ab", "a acquired in a"}},
		"released": {nil, []string{
			"a waiting in ", "b waiting in a", "c waiting in ab", "c acquired in abc", "b acquired in ab", "a acquired in a",
			"a released in ", "b released in ", "c released in ",
		}},
	} {
		t.Run("at "+bad, func(t *testing.T) {
			var told []string
			all := redlatch.Observers(nil, witnessing{"a", &told, ""}, witnessing{"b", &told, bad}, nil, witnessing{"c", &told, ""})
			lock := rlock.New(client, "x", redlatch.WithObserver(all))
			func() {
				defer func() { require.Equal(t, want.raises, recover()) }()
				require.NoError(t, lock.Do(t.Context(), func(context.Context) error { return nil }))
			}()
			if want.raises != nil { // what the call has got is given back, and that is told or not, as of one observer
				told = told[:len(want.told)]
			}
			require.Equal(t, want.told, told)
		})
	}
}

func TestObserversThatAreNoneAndOne(t *testing.T) {
	require.Nil(t, redlatch.Observers())
	require.Nil(t, redlatch.Observers(nil, nil))
	one := &witnessing{}
	require.Same(t, one, redlatch.Observers(nil, one))
	require.Nil(t, redlatch.DefaultObserver())
	redlatch.SetDefaultObserver(one)
	defer redlatch.SetDefaultObserver(nil)
	require.Same(t, one, redlatch.DefaultObserver())
}

func TestTheKindOfAnEventIsALabel(t *testing.T) {
	for _, kind := range []redlatch.EventKind{
		redlatch.EventWaiting, redlatch.EventOpened, redlatch.EventCounted, redlatch.EventRenewed, redlatch.EventAcquired,
		redlatch.EventRefused, redlatch.EventReleased, redlatch.EventLost, redlatch.EventForgotten, redlatch.EventLeft,
		redlatch.EventSettled, redlatch.EventAsked, redlatch.EventSlowWait, redlatch.EventLongHold,
	} {
		require.Regexp(t, label, kind)
	}
}

// label is the form of a word that metrics, logs and JSON can have without quoting.
const label = `^[a-z]+(_[a-z]+)*$`

func TestAKindIsALabelAndHasANoun(t *testing.T) {
	var said string
	for kind, noun := range map[redlatch.Kind]string{
		redlatch.KindLock: "lock", redlatch.KindFairLock: "fair lock", redlatch.KindFencedLock: "fenced lock", redlatch.KindSpinLock: "spin lock",
		redlatch.KindReadWriteLock: "read-write lock", redlatch.KindReadLock: "read lock", redlatch.KindWriteLock: "write lock",
		redlatch.KindGroupLock: "group lock", redlatch.KindMultiLock: "multi-lock", redlatch.KindRedlock: "redlock",
		redlatch.KindSemaphore: "semaphore", redlatch.KindPermitSemaphore: "permit semaphore", redlatch.KindLatch: "latch",
		redlatch.KindGuard: "guard",
	} {
		require.Regexp(t, label, kind)
		require.Zero(t, testing.AllocsPerRun(10, func() { said = kind.Noun() }))
		require.Equal(t, noun, said)
		require.Equal(t, string(kind), strings.NewReplacer(" ", "_", "-", "_").Replace(noun))
	}
	require.Equal(t, "kind of a later version", redlatch.Kind("kind_of_a_later_version").Noun())
}

func TestAReasonIsALabel(t *testing.T) {
	for _, reason := range []redlatch.LossReason{
		redlatch.ReasonTaken, redlatch.ReasonUnanswered, redlatch.ReasonLeaseOver, redlatch.ReasonLimitOver, redlatch.ReasonMembers,
		redlatch.ReasonForgotten,
	} {
		require.Regexp(t, label, reason)
	}
}
