package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// waitInBackground has a call wait until the test ends.
func waitInBackground(t *testing.T, wait func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wait(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// subscribe listens to a channel as a client of Redisson does.
func subscribe(t *testing.T, client *redis.Client, channel string) {
	t.Helper()
	sub := client.Subscribe(t.Context(), channel)
	t.Cleanup(func() { _ = sub.Close() })
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
}

func TestWaitersAreShownWithTheirProcesses(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		asking := srv.Client(t)
		locked := func(lock func(c redlatch.Client, name string) redlatch.Locker) func(redlatch.Client, string) func(context.Context) error {
			return func(c redlatch.Client, name string) func(context.Context) error {
				return func(ctx context.Context) error {
					hold, err := lock(c, name).Lock(ctx)
					if err == nil {
						t.Cleanup(func() { _ = hold.Unlock(context.Background()) })
					}
					return err
				}
			}
		}
		for _, test := range []struct {
			kind    redlatch.Kind
			use     func(c redlatch.Client, name string) func(ctx context.Context) error
			channel func(name string) string
			side    string
		}{
			{redlatch.KindLock, locked(func(c redlatch.Client, n string) redlatch.Locker { return rlock.New(c, n) }), keys.LockChannel, ""},
			{redlatch.KindFencedLock, locked(func(c redlatch.Client, n string) redlatch.Locker { return fencedlock.New(c, n) }), keys.LockChannel, ""},
			{redlatch.KindFairLock, locked(func(c redlatch.Client, n string) redlatch.Locker { return fairlock.New(c, n) }), nil, ""},
			{redlatch.KindReadWriteLock, locked(func(c redlatch.Client, n string) redlatch.Locker { return rwlock.New(c, n) }), keys.ReadWriteChannel, "write"},
			{redlatch.KindSemaphore, func(c redlatch.Client, n string) func(ctx context.Context) error {
				require.NoError(t, asking.SetNX(t.Context(), n, 1, 0).Err())
				return func(ctx context.Context) error { return semaphore.New(c, n).Acquire(ctx, 1) }
			}, keys.SemaphoreChannel, ""},
		} {
			name := srv.Key(t, "name")
			require.NoError(t, test.use(srv.Client(t), name)(t.Context()))
			o := get(t, asking, test.kind, name)
			require.Empty(t, o.Waiting.Processes)
			require.Zero(t, o.Waiting.Outsiders)

			waitInBackground(t, test.use(srv.Client(t), name))
			var w fleet.Waiter
			redistest.Eventually(t, "a process waits for the "+string(test.kind), func() bool {
				all := get(t, asking, test.kind, name).Waiting.Processes
				if len(all) == 1 {
					w = all[0]
				}
				return len(all) == 1
			})
			require.Equal(t, 1, w.Place, test.kind)
			require.Equal(t, "client "+w.ClientID, w.Who())
			require.Equal(t, test.side, w.Side)
			require.False(t, w.Gone)
			if test.kind != redlatch.KindFairLock {
				require.InDelta(t, now(t, asking), w.Since.UnixMilli(), 60_000, test.kind)
			}

			if test.kind != redlatch.KindReadWriteLock {
				enter(t, asking, "", w.ClientID, 0, webAbout, registry.Thing{Kind: string(test.kind), Key: name, Waiters: 4, WaitingSince: 1700000000000})
			} else {
				enter(t, asking, "", w.ClientID, 0, webAbout, registry.Thing{Kind: "write_lock", Key: name, Waiters: 3, WaitingSince: 1700000000000},
					registry.Thing{Kind: "read_lock", Key: name, Waiters: 1, WaitingSince: 1700000000001})
			}
			enter(t, asking, "", java, 0, registry.About{Version: 1, Host: "pay-1"})
			enter(t, asking, "", ours, 0, registry.About{Version: 1, Host: "web-9"}, registry.Thing{Kind: string(test.kind), Key: name, Waiters: 1, WaitingSince: 1700000000005})
			all := get(t, asking, test.kind, name).Waiting.Processes
			require.Len(t, all, 2, test.kind)
			require.Equal(t, "web-3 billing pid 17 (blue)", all[0].Who())
			require.EqualValues(t, 4, all[0].Calls, test.kind)
			require.EqualValues(t, 1700000000000, all[0].Since.UnixMilli())
			require.Equal(t, "web-9", all[1].Who())
			require.Zero(t, all[1].Place)

			if test.channel != nil {
				subscribe(t, srv.Client(t), test.channel(name))
				redistest.Eventually(t, "one outsider waits", func() bool { return get(t, asking, test.kind, name).Waiting.Outsiders == 1 })
			}
		}
	})
}

// Waiters of these kinds listen to one channel with Redisson's, and stand in no queue that can be found.
func TestWaitersOfALatchAndAGroupAreOutsidersUntilTheirEntriesSayThatTheyWait(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		for kind, wait := range map[redlatch.Kind]func(c redlatch.Client, name string) func(ctx context.Context) error{
			redlatch.KindLatch: func(c redlatch.Client, name string) func(ctx context.Context) error {
				_, err := countdownlatch.New(c, name).TrySetCount(t.Context(), 3)
				require.NoError(t, err)
				return func(ctx context.Context) error {
					return countdownlatch.New(c, name).Await(ctx)
				}
			},
			redlatch.KindGroupLock: func(c redlatch.Client, name string) func(ctx context.Context) error {
				group := multilock.NewGroup(c, name, []string{"a", "b"})
				hold, err := group.Lock(t.Context())
				require.NoError(t, err)
				unlockLater(t, hold)
				return func(ctx context.Context) error {
					_, err := group.Lock(ctx)
					return err
				}
			},
		} {
			client, name := srv.Client(t), srv.Key(t, "name")
			unlisted := srv.Client(t)
			require.NoError(t, redlatch.Configure(unlisted, redlatch.WithoutRegistry()))
			waitInBackground(t, wait(unlisted, name))
			is := func(processes int, outsiders int64) func() bool {
				return func() bool {
					w := get(t, client, kind, name).Waiting
					return len(w.Processes) == processes && w.Outsiders == outsiders
				}
			}
			redistest.Eventually(t, "a connection listens", is(0, 1))
			enter(t, client, "", ours, 0, webAbout, registry.Thing{Kind: string(kind), Key: name, Waiters: 1, WaitingSince: 7})
			redistest.Eventually(t, "it is known whose that is", is(1, 0))
			subscribe(t, srv.Client(t), map[redlatch.Kind]func(string) string{redlatch.KindLatch: keys.LatchChannel, redlatch.KindGroupLock: keys.LockChannel}[kind](name))
			redistest.Eventually(t, "another one listens", is(1, 1))
			enter(t, client, "", ours, time.Hour, webAbout)
			redistest.Eventually(t, "the one that has said so is dead", is(1, 2))
		}
	})
}

// The waiters of a redlock name the first server's lock by another kind, and stand in no queue.
func TestAWaiterOfARedlockIsShownAtTheLock(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, name := srv.Client(t), srv.Key(t, "name")
		require.NoError(t, client.HSet(t.Context(), name, java+":42", 1).Err())
		for range 2 { // one of this library and one of Redisson
			subscribe(t, srv.Client(t), keys.LockChannel(name))
		}
		enter(t, client, "", ours, 0, webAbout, registry.Thing{Kind: "redlock", Key: name, Waiters: 3, WaitingSince: 7})
		objects, _ := list(t, client)
		for _, o := range []*fleet.Object{get(t, client, fleet.Detect, name), get(t, client, "redlock", name), objects[name]} {
			require.Equal(t, redlatch.KindLock, o.Kind)
			require.Len(t, o.Waiting.Processes, 1)
			require.Equal(t, "web-3 billing pid 17 (blue)", o.Waiting.Processes[0].Who())
			require.EqualValues(t, 3, o.Waiting.Processes[0].Calls)
			require.EqualValues(t, 1, o.Waiting.Outsiders)
		}
	})
}

func TestAProcessThatHasNotAskedForItsPatienceIsGone(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, name := srv.Client(t), srv.Key(t, "lock")
		ctx := t.Context()
		at := now(t, client)
		row := keys.LockRowKeys(name)
		subscribe(t, srv.Client(t), keys.LockChannel(name))
		require.NoError(t, client.ZAdd(ctx, row[0], redis.Z{Member: ours + ":1", Score: float64(at-9000) * 1000},
			redis.Z{Member: other + ":-2", Score: float64(at-8000) * 1000}, redis.Z{Member: "nonsense", Score: 1}).Err())
		require.NoError(t, client.ZAdd(ctx, row[1], redis.Z{Member: ours + ":1", Score: float64(at - 1)},
			redis.Z{Member: other + ":-2", Score: -float64(at + 60_000)}).Err())
		all := get(t, client, redlatch.KindLock, name).Waiting.Processes
		require.Len(t, all, 2)
		require.Equal(t, []string{ours, other}, []string{all[0].ClientID, all[1].ClientID})
		require.Equal(t, []bool{true, false}, []bool{all[0].Gone, all[1].Gone})
		require.EqualValues(t, at-9000, all[0].Since.UnixMilli())
		require.Equal(t, 2, all[1].Place)
	})
}

func TestAFairQueueOfRedissonIsShown(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, name := srv.Client(t), srv.Key(t, "fair")
		ctx := t.Context()
		require.NoError(t, client.HSet(ctx, name, ours+":1", 1).Err())
		require.NoError(t, client.RPush(ctx, keys.FairQueue(name), java+":1", other+":5", java+":2").Err())
		o := get(t, client, fleet.Detect, name)
		require.Equal(t, redlatch.KindFairLock, o.Kind)
		all := o.Waiting.Processes
		require.Len(t, all, 2)
		require.Equal(t, "Redisson client "+java, all[0].Who())
		require.EqualValues(t, 2, all[0].Calls)
		require.Equal(t, []int{1, 2}, []int{all[0].Place, all[1].Place})
		require.Zero(t, o.Waiting.Outsiders)
	})
}

func TestFleetNeitherWritesNorSubscribes(t *testing.T) {
	srv := redistest.Real(t)
	client, name := srv.Client(t), srv.Key(t, "lock")
	hold, err := rlock.New(srv.Client(t), name).Lock(t.Context())
	require.NoError(t, err)
	unlockLater(t, hold)
	enter(t, client, "", ours, 0, webAbout, registry.Thing{Kind: "lock", Key: name, Holds: 1, HeldSince: 7})
	user := srv.User(t, "-@write", "-subscribe", "-ssubscribe", "-psubscribe", "resetchannels")
	get(t, user, redlatch.KindLock, name)
	_, err = fleet.Clients(t.Context(), user)
	require.NoError(t, err)
	for _, kind := range fleet.Kinds() {
		if kind == redlatch.KindLock || kind == redlatch.KindFairLock || kind == redlatch.KindFencedLock || kind == redlatch.KindSpinLock {
			get(t, user, kind, name)
		} else {
			get(t, user, kind, srv.Key(t, "none"))
		}
	}
	log, err := client.Do(t.Context(), "acl", "log").Slice()
	require.NoError(t, err)
	require.Empty(t, log, "nothing was even tried")
}
