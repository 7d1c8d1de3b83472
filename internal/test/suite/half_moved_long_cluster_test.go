package suite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// A move that is broken off leaves a slot half moved until an operator looks. For twenty seconds the locks of one key go on. All
// other objects change nothing: what is held stays held, and a waiter waits on. They go on when the slot has moved.
func TestASlotStaysHalfMovedForTwentySeconds(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2, 0)
	n := 0
	for half, moved := range halves {
		for n++; keys.Slot(fmt.Sprint("object", n)) >= keys.Slots/2; n++ {
		}
		tag := fmt.Sprint("object", n)
		t.Run(half, func(t *testing.T) {
			t.Parallel()
			staysHalfMoved(t, cluster, tag, moved)
		})
	}
}

// A stuck object is held by one client and waited for by another, while a third one tries to get it.
type stuck struct {
	try     func() error
	release func(context.Context) error
	next    chan error
}

func staysHalfMoved(t *testing.T, cluster *redistest.ClusterServers, tag string, moved func(key, main string) bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ours, theirs, third := cluster.Client(t), cluster.Client(t), cluster.Client(t)
	patient := []redlatch.Option{redlatch.WithOutage(2 * time.Minute), redlatch.WithPoll(500 * time.Millisecond)}
	impatient := []redlatch.Option{redlatch.WithOutage(100 * time.Millisecond), redlatch.WithWait(100 * time.Millisecond)}
	mains := map[string]bool{}
	name := func(what string) string {
		name := "{" + tag + "}:" + what
		mains[name] = true
		return name
	}

	objects := map[string]stuck{}
	hold := func(what string, mine, others, last take) {
		release, err := mine(ctx)
		require.NoError(t, err, what)
		next := make(chan error, 1)
		go func() {
			release, err := others(ctx, patient...)
			if err == nil {
				err = release(ctx)
			}
			next <- err
		}()
		objects[what] = stuck{release: release, next: next, try: func() error { _, err := last(ctx, impatient...); return err }}
	}
	for what, object := range ofSeveralKeys(t) {
		name := name(what)
		hold(what, object(ours, name), object(theirs, name), object(third, name))
	}
	shared := name("reader") // for which a writer waits
	hold("reader", takeLock(rwlock.New(ours, shared).Reader()), takeLock(rwlock.New(theirs, shared).Writer()), takeLock(rwlock.New(third, shared).Writer()))
	latch, opened := countdownlatch.New(ours, tag), make(chan error, 1) // whose name has no braces, for its channel's sake
	mains[tag] = true
	yes(t, call(latch.TrySetCount(ctx, 1)))
	go func() { opened <- countdownlatch.New(theirs, latch.Name()).Await(ctx, patient...) }()
	objects["latch"] = stuck{next: opened, release: latch.CountDown, try: func() error {
		return countdownlatch.New(third, latch.Name()).Await(ctx, impatient...)
	}}
	oneKey := map[string]redlatch.Locker{
		"rlock": rlock.New(ours, name("rlock")), "spinlock": spinlock.New(ours, name("spinlock")),
		"group": multilock.NewGroup(ours, name("group"), []string{"a", "b"}),
	}
	goesOn := func() {
		for what, lock := range oneKey {
			hold, err := lock.Lock(ctx)
			require.NoError(t, err, what)
			require.NoError(t, hold.Unlock(ctx), what)
		}
		time.Sleep(100 * time.Millisecond)
	}

	slot := openSlot(t, cluster.Node(0), cluster.Node(1), keys.Slot(tag))
	since := time.Now()
	for _, key := range slot.source(1000) {
		main := ""
		if mains[key] {
			main = key
		}
		if moved(key, main) {
			slot.move(key)
		}
	}
	for time.Since(since) < 10*time.Second {
		goesOn()
		for what, object := range objects {
			err := object.try()
			require.Error(t, err, what)
			require.Falsef(t, errors.Is(err, redlatch.ErrLost) || errors.Is(err, redlatch.ErrUncertain), "%s: %v", what, err)
			select {
			case err := <-object.next:
				require.Failf(t, "a waiter got what is held", "%s: %v", what, err)
			default:
			}
		}
	}
	released := map[string]<-chan error{}
	for what, object := range objects {
		done := make(chan error, 1)
		released[what] = done
		go func() { done <- object.release(ctx) }()
	}
	for time.Since(since) < 20*time.Second {
		goesOn()
	}
	slot.move(slot.source(1000)...)
	slot.close()
	for what, object := range objects {
		releasedAfter(t, <-released[what], object.release)
		require.NoError(t, <-object.next, what)
	}
}
