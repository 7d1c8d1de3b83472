package suite_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// What is held, renewed and waited for stays so while its slot moves to another primary, while that is replaced by its
// replica, and while that one is killed, as long as the replica has it.
func TestNothingIsLostWhenAClusterMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3, 1)
	const tag = "x"
	slot := keys.Slot(tag)
	first := slot * 3 / keys.Slots
	second := (first + 1) % 3
	ours, theirs := cluster.Client(t), cluster.Client(t)
	ctx := t.Context()

	const lease = 15 * time.Second
	renewed := redlatch.WithWatchdogTimeout(lease)
	lockers := func(client redlatch.Client) map[string]redlatch.Locker {
		return map[string]redlatch.Locker{
			"rlock": rlock.New(client, "{x}:plain"), "fairlock": fairlock.New(client, "{x}:fair"),
			"fencedlock": fencedlock.New(client, "{x}:fenced"), "writer": rwlock.New(client, "{x}:write").Writer(),
			"group": multilock.NewGroup(client, "{x}:group", []string{"a", "b"}),
		}
	}
	holds, next := map[string]*redlatch.Hold{}, map[string]chan *redlatch.Hold{}
	others := lockers(theirs)
	for what, lock := range lockers(ours) {
		hold, err := lock.Lock(ctx, renewed)
		require.NoError(t, err, what)
		holds[what], next[what] = hold, make(chan *redlatch.Hold, 1)
		go func() {
			got, err := others[what].Lock(ctx, redlatch.WithOutage(time.Minute))
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			next[what] <- got
		}()
	}
	leased, plain := permitsemaphore.New(ours, "{x}:leased"), semaphore.New(ours, "{x}:permits")
	yes(t, call(leased.TrySetPermits(ctx, 1)))
	permit, err := leased.Acquire(ctx, 1, renewed)
	require.NoError(t, err)
	yes(t, call(plain.TrySetPermits(ctx, 1)))
	require.NoError(t, plain.Acquire(ctx, 1))
	latch := countdownlatch.New(ours, tag)
	yes(t, call(latch.TrySetCount(ctx, 1)))
	released := make(chan error, 3)
	go func() {
		p, err := permitsemaphore.New(theirs, "{x}:leased").Acquire(ctx, 1, redlatch.WithOutage(time.Minute))
		if err == nil {
			err = p.Release(ctx)
		}
		released <- err
	}()
	go func() {
		released <- semaphore.New(theirs, "{x}:permits").Acquire(ctx, 1, redlatch.WithOutage(time.Minute))
	}()
	go func() { released <- countdownlatch.New(theirs, tag).Await(ctx, redlatch.WithOutage(time.Minute)) }()

	kept := func(when string) {
		t.Helper()
		since := time.Now().Add(lease - lease/100) // until when it is trusted what is renewed from now on
		await(t, "a renewal of everything "+when, func() bool {
			for what, hold := range holds {
				require.NoError(t, context.Cause(hold.Context(ctx)), "%s %s", what, when)
				if hold.Until().Before(since) {
					return false
				}
			}
			require.NoError(t, context.Cause(permit.Context(ctx)), when)
			return !permit.Until().Before(since)
		})
	}
	move := moveSlot
	if cluster.Node(first).Has(t, servers.SlotsAtOnce) {
		move = moveSlotAtOnce
	}
	move(t, cluster.Node(first), cluster.Node(second), slot)
	kept("after the slot has moved")

	replica := cluster.Node(3 + second)
	takesOver(t, replica)
	kept("after a failover")
	cluster.Node(second).Kill()
	kept("while a replica is gone")
	cluster.Node(second).Restart()
	await(t, "the former primary as a replica", func() bool {
		info, err := cluster.Node(second).Client(t).Info(ctx, "replication").Result()
		return err == nil && strings.Contains(info, "role:slave") && strings.Contains(info, "master_link_status:up")
	})
	replica.Kill()
	kept("after the death of the primary")

	for what, hold := range holds {
		require.NoError(t, hold.Unlock(ctx), what)
		got := <-next[what]
		require.NotNil(t, got, what)
		require.NoError(t, got.Unlock(ctx), what)
	}
	require.NoError(t, permit.Release(ctx))
	require.NoError(t, plain.Release(ctx, 1))
	require.NoError(t, latch.CountDown(ctx))
	for range cap(released) {
		require.NoError(t, <-released)
	}
	available, err := plain.AvailablePermits(ctx)
	require.NoError(t, err)
	require.Zero(t, available)
	available, err = leased.AvailablePermits(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, available)
}

// moveSlot moves a slot with its keys, in the steps in which redis-cli does it.
func moveSlot(t *testing.T, from, to *redistest.Server, slot int) {
	t.Helper()
	s := openSlot(t, from, to, slot)
	await(t, "the keys to have moved", func() bool {
		s.move(s.source(1)...) // one by one, so that there are moments in which an object has keys on both sides
		return len(s.source(1)) == 0
	})
	s.close()
}

// A movingSlot is one that a server gives to another.
type movingSlot struct {
	*testing.T
	from, to *redis.Client
	addr     string // of the other
	slot     int
}

// openSlot begins to move a slot, and moves no key.
func openSlot(t *testing.T, from, to *redistest.Server, slot int) *movingSlot {
	t.Helper()
	s := &movingSlot{t, from.Client(t), to.Client(t), to.Addr, slot}
	s.set(s.to, "importing", s.id(s.from))
	s.set(s.from, "migrating", s.id(s.to))
	return s
}

func (s *movingSlot) id(client *redis.Client) string {
	s.Helper()
	id, err := client.ClusterMyID(s.Context()).Result()
	require.NoError(s, err)
	return id
}

func (s *movingSlot) set(client *redis.Client, args ...any) {
	s.Helper()
	require.NoError(s, client.Do(s.Context(), append([]any{"cluster", "setslot", s.slot}, args...)...).Err())
}

// source are some keys that have not moved.
func (s *movingSlot) source(most int) []string {
	s.Helper()
	some, err := s.from.ClusterGetKeysInSlot(s.Context(), s.slot, most).Result()
	require.NoError(s, err)
	return some
}

// move moves keys. It fails where the other server has one of that name already.
func (s *movingSlot) move(names ...string) {
	s.Helper()
	host, port, err := net.SplitHostPort(s.addr)
	require.NoError(s, err)
	for _, name := range names {
		require.NoError(s, s.from.Migrate(s.Context(), host, port, name, 0, 5*time.Second).Err(), name)
	}
}

// close says that the slot has moved.
func (s *movingSlot) close() {
	s.Helper()
	s.set(s.to, "node", s.id(s.to))
	s.set(s.from, "node", s.id(s.to))
}

// moveSlotAtOnce has the server move a slot.
func moveSlotAtOnce(t *testing.T, from, to *redistest.Server, slot int) {
	t.Helper()
	ctx := t.Context()
	source := from.Client(t)
	id, err := to.Client(t).ClusterMyID(ctx).Result()
	require.NoError(t, err)
	require.NoError(t, source.Do(ctx, "cluster", "migrateslots", "slotsrange", slot, slot, "node", id).Err())
	await(t, "the slot to have moved", func() bool {
		migrations, err := source.Do(ctx, "cluster", "getslotmigrations").Result()
		require.NoError(t, err)
		return strings.Contains(fmt.Sprint(migrations), "success")
	})
}

// takesOver makes a replica the primary while that works.
func takesOver(t *testing.T, replica *redistest.Server) {
	t.Helper()
	client := replica.Client(t)
	await(t, "the replica to take over", func() bool {
		role, err := client.Do(t.Context(), "role").Slice()
		if err == nil && role[0] == "master" {
			return true
		}
		_ = client.ClusterFailover(t.Context()).Err() // refused while one is under way
		return false
	})
}
