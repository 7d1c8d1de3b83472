package suite_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/spinlock"
)

// The keys of an object may be on two servers for as long as its slot moves.
var halves = map[string]func(key, main string) bool{
	"none has moved":         func(string, string) bool { return false },
	"the lock has moved":     func(key, main string) bool { return key == main },
	"the others have moved":  func(key, main string) bool { return key != main },
	"all of them have moved": func(string, string) bool { return true },
}

// onHalves runs fn for each of the halves, with an object of another name, whose slot is the first server's. open moves some of
// its keys, and close the rest.
func onHalves(t *testing.T, fn func(t *testing.T, cluster *redistest.ClusterServers, name string, open func() *movingSlot, finish func(*movingSlot))) {
	cluster := redistest.Cluster(t, 2, 0)
	n := 0
	for half, moved := range halves {
		for n++; keys.Slot(fmt.Sprint("object", n)) >= keys.Slots/2; n++ {
		}
		name := fmt.Sprint("object", n)
		t.Run(half, func(t *testing.T) {
			fn(t, cluster, name, func() *movingSlot {
				s := openSlot(t, cluster.Node(0), cluster.Node(1), keys.Slot(name))
				for _, key := range s.source(100) {
					if moved(key, name) {
						s.move(key)
					}
				}
				return s
			}, func(s *movingSlot) {
				s.move(s.source(100)...)
				s.close()
			})
		})
	}
}

// What has one key works while a slot moves, however long that takes: the locks that are Redisson's with one key.
func TestALockOfOneKeyGoesOnInASlotThatIsHalfMoved(t *testing.T) {
	for what, newLock := range map[string]func(client redlatch.Client, name string) redlatch.Locker{
		"rlock":    func(client redlatch.Client, name string) redlatch.Locker { return rlock.New(client, name) },
		"spinlock": func(client redlatch.Client, name string) redlatch.Locker { return spinlock.New(client, name) },
		"group": func(client redlatch.Client, name string) redlatch.Locker {
			return multilock.NewGroup(client, name, []string{"a", "b"})
		},
	} {
		t.Run(what, func(t *testing.T) {
			onHalves(t, func(t *testing.T, cluster *redistest.ClusterServers, name string, open func() *movingSlot, finish func(*movingSlot)) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				watched := redlatch.WithWatchdogTimeout(3 * time.Second)
				ours, theirs, third := newLock(cluster.Client(t), name), newLock(cluster.Client(t), name), newLock(cluster.Client(t), name)
				wait := func(lock redlatch.Locker) <-chan *redlatch.Hold {
					next := make(chan *redlatch.Hold, 1)
					go func() {
						hold, err := lock.Lock(ctx)
						if err != nil {
							t.Errorf("a waiter: %v", err)
						}
						next <- hold
					}()
					return next
				}
				either := func(some, others <-chan *redlatch.Hold) (hold *redlatch.Hold) {
					select {
					case hold = <-some:
					case hold = <-others:
					}
					require.NotNil(t, hold)
					return hold
				}
				hold, err := ours.Lock(ctx, watched)
				require.NoError(t, err)
				next := wait(theirs)
				if what == "rlock" {
					seats(t, cluster.Client(t), name, 1)
				}
				slot := open()

				_, err = third.TryLock(ctx)
				require.ErrorIs(t, err, redlatch.ErrNotAcquired)
				since := hold.Until()
				await(t, "a renewal", func() bool { return hold.Until().After(since) })
				last := wait(third) // has not waited when the slot began to move
				again, err := ours.Lock(hold.Context(ctx))
				require.NoError(t, err)
				require.NoError(t, again.Extend(ctx, time.Minute))
				require.NoError(t, again.Unlock(ctx))
				require.NoError(t, hold.Unlock(ctx))
				require.NoError(t, either(next, last).Unlock(ctx))
				require.NoError(t, either(next, last).Unlock(ctx))
				hold, err = third.Lock(ctx, redlatch.WithLease(time.Minute))
				require.NoError(t, err)
				heir := make(chan *redlatch.Hold, 1)
				go func() { // one script takes the lock from the one and gives it to the other
					hold, err := third.Lock(ctx, redlatch.WithLease(30*time.Second))
					if err != nil {
						t.Errorf("a waiter of the same process: %v", err)
					}
					heir <- hold
				}()
				next = wait(ours)
				require.NoError(t, hold.Unlock(ctx))
				require.NoError(t, either(next, heir).Unlock(ctx))
				got := either(next, heir)
				finish(slot)
				require.NoError(t, got.Unlock(ctx))
				hold, err = third.Lock(ctx)
				require.NoError(t, err)
				require.NoError(t, hold.Unlock(ctx))
				await(t, "everything to be gone", func() bool {
					left, err := slot.to.ClusterCountKeysInSlot(ctx, slot.slot).Result()
					return err == nil && left == 0
				})
			})
		})
	}
}
