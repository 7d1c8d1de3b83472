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
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
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
	t.Parallel()
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

// take is an acquisition of one object. Its release is of what was acquired.
type take func(ctx context.Context, opts ...redlatch.Option) (release func(context.Context) error, err error)

func takeLock(lock redlatch.Locker) take {
	return func(ctx context.Context, opts ...redlatch.Option) (func(context.Context) error, error) {
		hold, err := lock.Lock(ctx, opts...)
		if err != nil {
			return nil, err
		}
		return hold.Unlock, nil
	}
}

// ofSeveralKeys are the objects that have several keys in Redisson's format, and one permit.
func ofSeveralKeys(t *testing.T, opts ...redlatch.Option) map[string]func(client redlatch.Client, name string) take {
	return map[string]func(client redlatch.Client, name string) take{
		"fencedlock": func(client redlatch.Client, name string) take { return takeLock(fencedlock.New(client, name, opts...)) },
		"fairlock":   func(client redlatch.Client, name string) take { return takeLock(fairlock.New(client, name, opts...)) },
		"rwlock": func(client redlatch.Client, name string) take {
			return takeLock(rwlock.New(client, name, append(opts, rwlock.WithWriterPreference())...).Writer())
		},
		"semaphore": func(client redlatch.Client, name string) take {
			s := semaphore.New(client, name, opts...)
			_, err := s.TrySetPermits(t.Context(), 1, redlatch.WithOutage(time.Minute)) // also if opts have less
			require.NoError(t, err)
			return func(ctx context.Context, opts ...redlatch.Option) (func(context.Context) error, error) {
				release := func(ctx context.Context) error { return s.Release(ctx, 1) }
				return release, s.Acquire(ctx, 1, opts...)
			}
		},
		"permitsemaphore": func(client redlatch.Client, name string) take {
			s := permitsemaphore.New(client, name, opts...)
			_, err := s.TrySetPermits(t.Context(), 1, redlatch.WithOutage(time.Minute)) // also if opts have less
			require.NoError(t, err)
			return func(ctx context.Context, opts ...redlatch.Option) (func(context.Context) error, error) {
				permit, err := s.Acquire(ctx, 1, opts...)
				if err != nil {
					return nil, err
				}
				return permit.Release, nil
			}
		},
	}
}

// releasedAfter releases once more what a release has not, which err is of. What is in doubt goes on by itself.
func releasedAfter(t *testing.T, err error, release func(context.Context) error) {
	t.Helper()
	if err == nil || errors.Is(err, redlatch.ErrUncertain) {
		return
	}
	if err = release(t.Context()); !errors.Is(err, redlatch.ErrReleased) { // a hold or a permit with an id, which goes on too
		require.NoError(t, err)
	}
}

// What has several keys in Redisson's format is refused before it changes anything, unless its keys are all on one server. When
// they are, everything goes on, and no key was made where it does not belong: MIGRATE would refuse to move one to a server
// that has it already.
func TestWhatHasSeveralKeysGoesOnWhenItsSlotHasMoved(t *testing.T) {
	t.Parallel()
	soon := []redlatch.Option{redlatch.WithOutage(300 * time.Millisecond), redlatch.WithReleaseTimeout(500 * time.Millisecond)}
	patient := []redlatch.Option{redlatch.WithOutage(time.Minute), redlatch.WithPoll(500 * time.Millisecond)}
	for what, object := range ofSeveralKeys(t, soon...) {
		t.Run(what, func(t *testing.T) {
			onHalves(t, func(t *testing.T, cluster *redistest.ClusterServers, name string, open func() *movingSlot, finish func(*movingSlot)) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				ours, theirs, third := object(cluster.Client(t), name), object(cluster.Client(t), name), object(cluster.Client(t), name)
				release, err := ours(ctx)
				for ctx.Err() == nil && errors.Is(err, redlatch.ErrUnavailable) { // on a busy machine the first answer may take longer than the outage
					release, err = ours(ctx)
				}
				require.NoError(t, err)
				type got struct {
					release func(context.Context) error
					err     error
				}
				next, last := make(chan got, 1), make(chan got, 1)
				wait := func(object take, to chan got) {
					release, err := object(ctx, patient...)
					to <- got{release, err}
				}
				go wait(theirs, next)
				admin := cluster.Client(t)
				waits := func() bool {
					for _, key := range []string{keys.LockRow(name), keys.SemaphoreRow(name), keys.FairQueue(name), keys.Writers(name)} {
						if admin.Exists(ctx, key).Val() > 0 {
							return true
						}
					}
					return false
				}
				await(t, "a waiter in the process queue", waits)
				slot := open()
				go wait(third, last)
				_, err = ours(ctx, redlatch.WithWait(300*time.Millisecond))
				require.Error(t, err)
				err = release(ctx)
				finish(slot)
				releasedAfter(t, err, release)
				for range 2 {
					var g got
					select {
					case g = <-next:
					case g = <-last:
					}
					require.NoError(t, g.err)
					require.NoError(t, g.release(ctx))
				}
				release, err = ours(ctx)
				require.NoError(t, err)
				require.NoError(t, release(ctx))
				await(t, "nobody in the process queue", func() bool { return !waits() })
			})
		})
	}
}

// A release that is refused has done nothing, and says no more than that it is not confirmed. It is done as soon as the slot has
// moved.
func TestAReaderGivesBackInASlotThatIsHalfMoved(t *testing.T) {
	t.Parallel()
	onHalves(t, func(t *testing.T, cluster *redistest.ClusterServers, name string, open func() *movingSlot, finish func(*movingSlot)) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		admin := cluster.Client(t)
		client := cluster.Client(t)
		ours := rwlock.New(client, name, redlatch.WithOutage(time.Minute), redlatch.WithReleaseTimeout(500*time.Millisecond))
		impatient := rwlock.New(client, name, redlatch.WithOutage(300*time.Millisecond))
		theirs := rwlock.New(cluster.Client(t), name, redlatch.WithOutage(time.Minute))
		hold, err := ours.RLock(ctx)
		require.NoError(t, err)
		other, err := theirs.RLock(ctx)
		require.NoError(t, err)
		slot := open()
		_, err = impatient.TryLock(ctx)
		require.Error(t, err)
		err = hold.Unlock(ctx)
		finish(slot)
		if err != nil {
			require.ErrorIs(t, err, redlatch.ErrUnavailable)
		}
		await(t, "the release of the one", func() bool { return admin.HLen(ctx, name).Val() == 2 })
		require.NoError(t, other.Unlock(ctx))
		hold, err = ours.Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(ctx))
		await(t, "everything to be gone", func() bool {
			left, err := slot.to.ClusterCountKeysInSlot(ctx, slot.slot).Result()
			return err == nil && left == 0
		})
	})
}

func TestALatchIsCountedDownOnceInASlotThatIsHalfMoved(t *testing.T) {
	t.Parallel()
	onHalves(t, func(t *testing.T, cluster *redistest.ClusterServers, name string, open func() *movingSlot, finish func(*movingSlot)) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		client := cluster.Client(t)
		ours := countdownlatch.New(client, name, redlatch.WithOutage(time.Minute), redlatch.WithReleaseTimeout(500*time.Millisecond))
		impatient := countdownlatch.New(client, name, redlatch.WithOutage(300*time.Millisecond), redlatch.WithReleaseTimeout(500*time.Millisecond))
		theirs := countdownlatch.New(cluster.Client(t), name, redlatch.WithOutage(time.Minute), redlatch.WithPoll(500*time.Millisecond))
		yes(t, call(ours.TrySetCount(ctx, 3)))
		require.NoError(t, ours.CountDown(ctx))
		opened := make(chan error, 1)
		go func() { opened <- theirs.Await(ctx) }()
		slot := open()
		err := impatient.CountDown(ctx)
		finish(slot)
		if err != nil && !errors.Is(err, redlatch.ErrUncertain) {
			require.NoError(t, ours.CountDown(ctx))
		}
		await(t, "two to be counted", func() bool {
			left, err := theirs.Count(ctx)
			return err == nil && left == 1
		})
		require.NoError(t, ours.CountDown(ctx))
		require.NoError(t, <-opened)
	})
}

// The renewals of names in one slot share a command, which is refused while some of them have moved and others have not.
func TestTheRenewalsOfASlotThatIsHalfMovedGoOn(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2, 0)
	client, ctx := cluster.Client(t), t.Context()
	n := 0
	for keys.Slot(fmt.Sprint("object", n)) >= keys.Slots/2 {
		n++
	}
	tag := fmt.Sprint("object", n)
	var holds []*redlatch.Hold
	for i := range 6 {
		hold, err := rlock.New(client, fmt.Sprintf("{%s}:%d", tag, i)).Lock(ctx, redlatch.WithWatchdogTimeout(3*time.Second))
		require.NoError(t, err)
		holds = append(holds, hold)
	}
	slot := openSlot(t, cluster.Node(0), cluster.Node(1), keys.Slot(tag))
	slot.move(slot.source(100)[:3]...)
	for _, hold := range holds {
		for range 3 { // a lease goes by
			since := hold.Until()
			await(t, "a renewal", func() bool { return hold.Until().After(since) })
		}
	}
	slot.move(slot.source(100)...)
	slot.close()
	for _, hold := range holds {
		require.NoError(t, hold.Unlock(ctx))
	}
}
