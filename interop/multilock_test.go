package interop_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

func init() {
	goLocks["multi"] = func(client redlatch.Client, o object, opts ...redlatch.Option) redlatch.Locker {
		var members []redlatch.Locker
		for _, name := range o.members() {
			members = append(members, rlock.New(client, name, opts...))
		}
		return multilock.New(members)
	}
	goLocks["group"] = func(client redlatch.Client, o object, opts ...redlatch.Option) redlatch.Locker {
		return multilock.NewGroup(client, o.name, o.members(), opts...)
	}
	goLocks["redlock"] = func(client redlatch.Client, o object, opts ...redlatch.Option) redlatch.Locker {
		return redlock.New(client.(several).all, o.name, opts...)
	}
	kinds = append(kinds, kind{"multi", 0}, kind{"group", 0})
	stormKinds = append(stormKinds,
		stormObject{Kind: "multi", Name: "storm-multi", Names: []string{"storm-multi:a", "storm-multi:b"}},
		stormObject{Kind: "group", Name: "storm-group", Names: []string{"Jack_001", "Mary_002"}})
}

// A multi-lock is the locks of its members: a plain lock of the other side keeps it out, and is kept out by it.
func TestAMultiLockAndTheOthersPlainLocksOfItsMembersExcludeEachOther(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		all := w.object("multi")
		for _, name := range all.members() {
			member := object{kind: "lock", name: name}
			require.NoError(t, first.lock(all, how{}))
			require.ErrorIs(t, second.tryLock(member, 0), errBusy)
			require.NoError(t, first.unlock(all))
			require.NoError(t, second.lock(member, how{}))
			require.ErrorIs(t, first.tryLock(all, 0), errBusy)
			got := start(func() error { return first.lock(all, how{}) })
			w.awaitWaiter(t, member)
			require.NoError(t, second.unlock(member))
			await(t, "the multi-lock", got)
			require.NoError(t, first.unlock(all))
		}
		require.Empty(t, w.keys(t, all))
	})
}

func TestAGroupIsLockedByItsValues(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		both := w.object("group")
		both.names = "Jack_001 Mary_002"
		shared, other := both, both
		shared.names, other.names = "Mary_002 Zoë", "Zoë"
		require.NoError(t, first.lock(both, how{}))
		require.ErrorIs(t, second.tryLock(shared, 0), errBusy)
		require.NoError(t, second.tryLock(other, 0))
		third := w.sameSide(t, second)
		got := start(func() error { return third.lock(shared, how{}) })
		w.awaitWaiter(t, both)
		require.NoError(t, first.unlock(both))
		require.NoError(t, second.unlock(other))
		await(t, "the values", got)
		require.ErrorIs(t, first.tryLock(both, 0), errBusy)
		_, err := first.forceUnlock(shared) // Java answers true only for a single value
		require.NoError(t, err)
		require.NoError(t, first.tryLock(both, 0))
		require.ErrorIs(t, third.unlock(shared), errNotOwner)
		require.NoError(t, first.unlock(both))
		require.Empty(t, w.keys(t, both))
	})
}

// Whoever takes values from a holder whose deadline has passed writes over its name. Redisson leaves the rest of it, and
// with that a hash that nobody has any part in, until its TTL is over.
func TestWhatADeadHolderOfAGroupLeavesGoesWithTheNextHolderInGoOnly(t *testing.T) {
	w := singleWorld(t)
	node := w.nodes[0]
	for _, next := range []actor{w.golang(t), w.java(t)} {
		cases.Add(1)
		group := w.object("group")
		group.names = "Jack_001 Mary_002"
		dead := map[string]any{}
		for _, value := range []string{"7pNoDdizVy2xY792MaFv+w", "kIX2DFOX4IWct7G7K6tV9A"} {
			dead[value] = "dead:1"
			dead[value+":dead:1:expire_time"] = time.Now().Add(-time.Second).UnixMilli()
			dead[value+":dead:1:lock_count"] = 1
		}
		require.NoError(t, node.HSet(t.Context(), group.name, dead).Err())
		require.NoError(t, node.PExpire(t.Context(), group.name, time.Minute).Err())
		require.NoError(t, next.lock(group, how{}))
		require.NoError(t, next.unlock(group))
		left := node.HGetAll(t.Context(), group.name).Val()
		if next.side() == "Go" {
			require.Empty(t, left)
			continue
		}
		require.Len(t, left, 4)
		require.True(t, ofTheDead(left, time.Now()), left)
		require.Positive(t, node.PTTL(t.Context(), group.name).Val())
	}
}

// ofTheDead tells whether a group's hash has nothing but what is left of holders whose deadlines have passed.
func ofTheDead(hash map[string]string, now time.Time) bool {
	for field, value := range hash {
		if holder, ok := strings.CutSuffix(field, ":lock_count"); ok {
			field, value = holder+":expire_time", hash[holder+":expire_time"]
		}
		ends, err := strconv.ParseInt(value, 10, 64)
		if !strings.HasSuffix(field, ":expire_time") || err != nil || ends >= now.UnixMilli() {
			return false
		}
	}
	return true
}

// several is the clients of a Redlock, one for each server.
type several struct {
	redis.UniversalClient
	all []redlatch.Client
}

func TestARedlockIsOneLockForBothSides(t *testing.T) {
	w := redlockWorld(t)
	for name, run := range map[string]func(*testing.T, *world, object, actor, actor){
		"one keeps the other out": exclusion, "a lease ends for the other": leaseEnd, "a wait ends in time and leaves nothing": endedWait,
		"both contend": contention,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) { run(t, w, w.object("redlock"), first, second) })
		})
	}
	t.Run("the watchdog of each keeps it from the other", func(t *testing.T) {
		t.Parallel()
		quickBothWays(t, w, func(t *testing.T, first, second actor) { keeps(t, w, w.object("redlock"), first, second) })
	})
	t.Run("the other has one server", func(t *testing.T) {
		t.Parallel()
		bothWays(t, w, func(t *testing.T, first, second actor) {
			o := w.object("redlock")
			require.NoError(t, w.nodes[2].HSet(context.Background(), o.name, "b983c153-7421-469a-addb-44fb92259a1b:42", 1).Err())
			require.NoError(t, first.lock(o, how{}))
			require.ErrorIs(t, second.tryLock(o, 0), errBusy)
			require.NoError(t, first.unlock(o))
			require.NoError(t, second.tryLock(o, 0))
			require.NoError(t, second.unlock(o))
		})
	})
}

// redlockWorld is three servers that know nothing of each other.
func redlockWorld(t *testing.T) *world {
	t.Helper()
	w := singleWorld(t)
	clients := several{UniversalClient: w.client}
	clients.all = append(clients.all, w.client)
	w.longs, w.shorts = []string{w.long}, []string{w.short}
	for _, number := range []string{"-2", "-3"} {
		srv := redistest.Process(t)
		client := srv.Client(t)
		clients.all = append(clients.all, client)
		w.nodes = append(w.nodes, client)
		config := fields{"mode": "single", "addresses": []string{"redis://" + srv.Addr}}
		w.openClient(t, config, fields{"client": w.long + number})
		w.openClient(t, config, fields{"client": w.short + number, "watchdog": shortWatchdog.Milliseconds()})
		w.longs, w.shorts = append(w.longs, w.long+number), append(w.shorts, w.short+number)
	}
	w.goClient = clients
	return w
}

// The hash of a value is what makes its field; these were computed by Redisson's own class.
func TestTheFieldsOfAGroupAreWhatRedissonMakes(t *testing.T) {
	w := singleWorld(t)
	for _, a := range []actor{w.java(t), w.golang(t)} {
		o := w.object("group")
		o.names = "Jack_001 Mary_002 a Zoë 0123456789abcdef0123456789abcdef"
		require.NoError(t, a.lock(o, how{lease: 20 * time.Second}))
		fields, err := w.client.HKeys(t.Context(), o.name).Result()
		require.NoError(t, err)
		for _, hash := range []string{"7pNoDdizVy2xY792MaFv+w", "kIX2DFOX4IWct7G7K6tV9A", "qwvAS12pR0CgRitaypEjUw", "08hr0B8iaf3PoSsWAS8sWA"} {
			require.Contains(t, fields, hash, a.side())
		}
		text, _ := json.Marshal(fields)
		require.Len(t, fields, 15, "%s: %s", a.side(), text)
		require.NoError(t, a.unlock(o))
		require.Empty(t, w.keys(t, o))
	}
}
