package permitsemaphore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	key       = "s"
	permits   = "{s}:timeout"
	lanes     = "redlatch_lanes:{s}:session"
	keep      = 150 * time.Second
	ttl       = time.Hour
	lease     = 30 * time.Second
	never     = 922337203685477 // the score of a permit without a deadline
	noLease   = permitsemaphore.NoExpiry
	a, b, c   = "aaaaaaaa\x00\xffaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc" // 16 bytes, of any value
	soon, old = time.Minute, -time.Second
)

var (
	wake  = scripts.Wake{Publish: "PUBLISH", Channel: "redisson_sc:{s}"}
	names = permitsemaphore.NamesOf(key)
	first = lane.Call{Key: lanes, Lane: 1, Seq: 1}
	wrong = State{key: {Value: Hash{"owner": "1"}, TTL: ttl}} // a lock
	text  = State{key: {Value: "many", TTL: ttl}}
	mixed = State{key: {Value: "1"}, permits: {Value: "text"}}
)

func has(available string) State { return State{key: {Value: available}} }

// with adds or replaces keys of a state.
func with(s State, more State) State {
	all := State{}
	for name, k := range s {
		all[name] = k
	}
	for name, k := range more {
		all[name] = k
	}
	return all
}

func taken(available string, value any) State {
	return State{key: {Value: available}, permits: {Value: value}}
}

// did is s with the lane in which an operation has stored its number and reply.
func did(s State, seqAndReply string) State {
	return with(s, State{lanes: {Value: Hash{"1": seqAndReply}, TTL: keep}})
}

func said(payloads ...string) (all []Message) {
	for _, p := range payloads {
		all = append(all, Message{Channel: wake.Channel, Payload: p})
	}
	return all
}

func TestRelease(t *testing.T) {
	release := func(ids ...string) scripts.Command[bool] { return permitsemaphore.Release(names, ids, wake, first) }
	Table(t, []Row{
		{Name: "A permit comes back and the new total is announced", Before: taken("2", Deadlines{a: lease, b: soon}),
			Call: Answers(release(a), true), After: did(taken("3", Deadlines{b: soon}), "1:1"), Messages: said("3")},
		{Name: "Of several their number is", Before: taken("2", Scores{a: never, b: never, c: never}),
			Call: Answers(release(a, b), true), After: did(taken("4", Scores{c: never}), "1:1"), Messages: said("2")},
		{Name: "All or none", Before: taken("0", Scores{a: never}), Call: Answers(release(a, b), false)},
		{Name: "An expired one comes back once, but none of the others", Before: taken("0", Scores{a: never, b: 1}),
			Call: Answers(release(a, b), false), After: taken("1", Scores{a: never}), Messages: said("1")},
		{Name: "None is released where there is no semaphore", Before: State{permits: {Value: Scores{a: never}}}, Call: Answers(release(a), false)},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(release(a), "WRONGTYPE")},
		{Name: "Text is no set of permits", Before: mixed, Call: Fails(release(a), "WRONGTYPE")},
	})
}

func TestRenew(t *testing.T) {
	renew := func(lease time.Duration, ids ...string) scripts.Command[[]bool] {
		return renewAll([]permitsemaphore.Renewal{{Of: names, IDs: ids, Lease: lease}})
	}
	is := func(there ...bool) []bool { return there }
	Table(t, []Row{
		{Name: "The deadline moves forward", Before: taken("0", Deadlines{a: time.Second, b: time.Second}),
			Call: Answers(renew(lease, a), is(true)).Lengthens(), After: taken("0", Deadlines{a: lease, b: time.Second})},
		{Name: "And never back", Before: taken("0", Deadlines{a: time.Hour}), Call: Answers(renew(lease, a), is(true)).Lengthens()},
		{Name: "One that never expires stays so", Before: taken("0", Scores{a: never}), Call: Answers(renew(lease, a), is(true))},
		{Name: "A check moves nothing", Before: taken("0", Deadlines{a: time.Second}), Call: Answers(renew(0, a), is(true))},
		{Name: "One that is gone is not made, and the others are renewed", Before: taken("0", Deadlines{a: time.Second}),
			Call: Answers(renew(lease, b, a), is(false, true)).Lengthens(), After: taken("0", Deadlines{a: lease})},
		{Name: "An expired one is gone", Before: taken("0", Deadlines{a: old}), Call: Answers(renew(lease, a), is(false))},
		{Name: "So are those of a semaphore that vanished", Before: State{permits: {Value: Scores{a: never}}}, Call: Answers(renew(lease, a), is(false))},
		{Name: "A key of another type is lost permits and no error", Before: mixed, Call: Answers(renew(lease, a), is(false))},
		{Name: "Nothing at all", Before: State{}, Call: Answers(renew(lease, a), is(false))},
		{Name: "Several semaphores at once",
			Before: State{"x{s}": {Value: "0"}, "x{s}:timeout": {Value: Deadlines{a: time.Second}}, "y{s}": {Value: "0"}, "y{s}:timeout": {Value: Deadlines{b: time.Second, c: time.Second}}},
			Call: Answers(renewAll([]permitsemaphore.Renewal{
				{Of: permitsemaphore.NamesOf("x{s}"), IDs: []string{a}, Lease: lease}, {Of: permitsemaphore.NamesOf("none{s}"), IDs: []string{a}}, {Of: permitsemaphore.NamesOf("y{s}"), IDs: []string{b, c}, Lease: soon},
			}), []bool{true, false, true, true}).Lengthens(),
			After: State{"x{s}": {Value: "0"}, "x{s}:timeout": {Value: Deadlines{a: lease}}, "y{s}": {Value: "0"}, "y{s}:timeout": {Value: Deadlines{b: soon, c: soon}}}},
	})
}

func TestUpdateLease(t *testing.T) {
	update := func(lease time.Duration, ids ...string) scripts.Command[bool] {
		return permitsemaphore.UpdateLease(names, ids, lease, wake, first)
	}
	Table(t, []Row{
		{Name: "The deadline moves forward", Before: taken("0", Deadlines{a: time.Second, b: soon}),
			Call: Answers(update(lease, a), true), After: did(taken("0", Deadlines{a: lease, b: soon}), "1:1")},
		{Name: "Or back", Before: taken("0", Scores{a: never}), Call: Answers(update(lease, a), true), After: did(taken("0", Deadlines{a: lease}), "1:1")},
		{Name: "Or away", Before: taken("0", Deadlines{a: soon}), Call: Answers(update(noLease, a), true), After: did(taken("0", Scores{a: never}), "1:1")},
		{Name: "All or none", Before: taken("0", Scores{a: never}), Call: Answers(update(lease, a, b), false)},
		{Name: "An expired permit is not brought back to life", Before: taken("0", Deadlines{a: old}),
			Call: Answers(update(lease, a), false), After: has("1"), Messages: said("1")},
		{Name: "Nor one whose semaphore has vanished", Before: State{permits: {Value: Scores{a: never}}}, Call: Answers(update(lease, a), false)},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(update(lease, a), "WRONGTYPE")},
	})
}

func TestLeaseTime(t *testing.T) {
	type left = permitsemaphore.Left
	asked := func() scripts.Command[left] { return permitsemaphore.LeaseTime(names, a, wake) }
	Table(t, []Row{
		{Name: "What is left is told", Before: taken("0", Deadlines{a: lease}), Call: Answers(asked(), left{true, lease}).Lengthens()},
		{Name: "Nothing ends it", Before: taken("0", Scores{a: never}), Call: Answers(asked(), left{true, noLease})},
		{Name: "An expired one is put back", Before: taken("0", Deadlines{a: old}), Call: Answers(asked(), left{}), After: has("1"), Messages: said("1")},
		{Name: "It is unknown", Before: has("1"), Call: Answers(asked(), left{})},
		{Name: "Its semaphore has vanished", Before: State{permits: {Value: Scores{a: never}}}, Call: Answers(asked(), left{})},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(asked(), "WRONGTYPE")},
	})
}

func TestStatus(t *testing.T) {
	type count = permitsemaphore.Count
	status := permitsemaphore.Status(names, wake)
	Table(t, []Row{
		{Name: "Both are counted", Before: taken("-3", Scores{a: never, b: never}), Call: Answers(status, count{-3, 2, true})},
		{Name: "What has expired is put back first", Before: taken("-1", Scores{a: never, b: 1, c: 2}),
			Call: Answers(status, count{1, 1, true}), After: taken("1", Scores{a: never}), Messages: said("1")},
		{Name: "Without a message when none are available", Before: taken("-1", Scores{a: 1}), Call: Answers(status, count{0, 0, true}), After: has("0")},
		{Name: "Permits without a semaphore do not count", Before: State{permits: {Value: Scores{a: never}}}, Call: Answers(status, count{})},
		{Name: "There is nothing", Before: State{}, Call: Answers(status, count{})},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(status, "WRONGTYPE")},
	})
}

func TestTrySet(t *testing.T) {
	set := func(n int64, ttl time.Duration) scripts.Command[bool] {
		return permitsemaphore.TrySet(names, n, ttl, wake, first)
	}
	Table(t, []Row{
		{Name: "A semaphore that does not exist is set and announced", Before: State{}, Call: Answers(set(5, 0), true), After: did(has("5"), "1:1"), Messages: said("5")},
		{Name: "With a TTL", Before: State{}, Call: Answers(set(5, ttl), true), After: did(State{key: {Value: "5", TTL: ttl}}, "1:1"), Messages: said("5")},
		{Name: "0 permits are not announced", Before: State{}, Call: Answers(set(0, 0), true), After: did(has("0"), "1:1")},
		{Name: "Only absence means that it was never set", Before: has("0"), Call: Answers(set(5, ttl), false)},
		{Name: "Permits that outlived an earlier one count, and get its TTL", Before: State{permits: {Value: Scores{a: never, b: 1}}},
			Call: Answers(set(5, ttl), true), After: did(State{key: {Value: "3", TTL: ttl}, permits: {Value: Scores{a: never, b: 1}, TTL: ttl}}, "1:1"), Messages: said("3")},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(set(5, 0), "WRONGTYPE")},
	})
}

func TestSet(t *testing.T) {
	set := func(n int64) scripts.Command[bool] { return permitsemaphore.Set(names, n, wake, first) }
	Table(t, []Row{
		{Name: "A semaphore that does not exist is made", Before: State{}, Call: Answers(set(5), true), After: did(has("5"), "1:1"), Messages: said("5")},
		{Name: "Permits that outlived an earlier one count", Before: State{permits: {Value: Scores{a: never, b: never}}},
			Call: Answers(set(5), true), After: did(taken("3", Scores{a: never, b: never}), "1:1"), Messages: said("5")},
		{Name: "and keeps those taken for as long as itself", Before: State{permits: {Value: Scores{a: never}, TTL: ttl}},
			Call: Answers(set(5), true), After: did(taken("4", Scores{a: never}), "1:1"), Messages: said("5")},
		{Name: "Those taken are part of the number", Before: taken("1", Scores{a: never, b: never}),
			Call: Answers(set(5), true), After: did(taken("3", Scores{a: never, b: never}), "1:1"), Messages: said("5")},
		{Name: "Fewer than are taken are owed", Before: taken("1", Scores{a: never, b: never}),
			Call: Answers(set(1), true), After: did(taken("-1", Scores{a: never, b: never}), "1:1"), Messages: said("1")},
		{Name: "An equal number changes nothing", Before: taken("1", Scores{a: never, b: never}), Call: Answers(set(3), false)},
		{Name: "The TTL stays", Before: State{key: {Value: "1", TTL: ttl}}, Call: Answers(set(5), true),
			After: did(State{key: {Value: "5", TTL: ttl}}, "1:1"), Messages: said("5")},
		{Name: "What is left of an earlier semaphore does not expire", Before: State{permits: {Value: Scores{a: never}, TTL: ttl}},
			Call: Answers(set(5), true), After: did(taken("4", Scores{a: never}), "1:1"), Messages: said("5")},
		{Name: "One that does not exist can be set to what is taken", Before: State{permits: {Value: Scores{a: never}}},
			Call: Answers(set(1), true), After: did(taken("0", Scores{a: never}), "1:1"), Messages: said("1")},
		{Name: "0 is not announced", Before: has("1"), Call: Answers(set(0), true), After: did(has("0"), "1:1")},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(set(5), "WRONGTYPE")},
	})
}

func TestAdd(t *testing.T) {
	add := func(d int64) scripts.Command[int64] { return permitsemaphore.Add(names, d, wake, first) }
	Table(t, []Row{
		{Name: "Permits are added, their number is announced, and the TTL stays",
			Before: State{key: {Value: "2", TTL: ttl}, permits: {Value: Scores{a: never}, TTL: ttl}},
			Call:   Answers(add(3), 6), After: did(State{key: {Value: "5", TTL: ttl}, permits: {Value: Scores{a: never}, TTL: ttl}}, "1:6"), Messages: said("3")},
		{Name: "Or taken away, of which nobody is told", Before: has("2"), Call: Answers(add(-3), -1), After: did(has("-1"), "1:-1")},
		{Name: "A semaphore that does not exist is made", Before: State{permits: {Value: Scores{a: never}}},
			Call: Answers(add(3), 3), After: did(taken("2", Scores{a: never}), "1:3"), Messages: said("3")},
		{Name: "and what is left of an earlier one does not expire", Before: State{permits: {Value: Scores{a: never}, TTL: ttl}},
			Call: Answers(add(3), 3), After: did(taken("2", Scores{a: never}), "1:3"), Messages: said("3")},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(add(1), "WRONGTYPE")},
	})
}

func TestDeleteExpireAndPersist(t *testing.T) {
	remove := permitsemaphore.Delete(names, first)
	expire, persist := permitsemaphore.Expire(names, soon, first), permitsemaphore.Persist(names, first)
	both := State{key: {Value: "1", TTL: ttl}, permits: {Value: Scores{a: never}, TTL: ttl}}
	Table(t, []Row{
		{Name: "Both keys are removed, and nobody is told", Before: both, Call: Answers(remove, true), After: did(State{}, "1:1")},
		{Name: "There is nothing to remove", Before: State{}, Call: Answers(remove, false)},
		{Name: "A lock is not removed", Before: wrong, Call: Fails(remove, "WRONGTYPE")},
		{Name: "Both keys expire together", Before: taken("1", Scores{a: never}), Call: Answers(expire, true),
			After: did(State{key: {Value: "1", TTL: soon}, permits: {Value: Scores{a: never}, TTL: soon}}, "1:1")},
		{Name: "There is nothing that could expire", Before: State{}, Call: Answers(expire, false)},
		{Name: "Both stay", Before: both, Call: Answers(persist, true), After: did(taken("1", Scores{a: never}), "1:1")},
		{Name: "There is no TTL to remove", Before: taken("1", Scores{a: never}), Call: Answers(persist, false)},
		{Name: "A lock does not lose its TTL", Before: wrong, Call: Fails(persist, "WRONGTYPE")},
	})
}

// The golden states of the expirable permits.
func TestGoldenStates(t *testing.T) {
	require.Equal(t, wake.Channel, keys.SemaphoreChannel(key))
	require.Equal(t, permits, keys.PermitTimeouts(key))
	seq := int64(0)
	next := func() lane.Call { seq++; return lane.Call{Key: lanes, Lane: 1, Seq: seq} }
	Sequence(t, []Row{
		{Name: "trySet(2)", Before: State{}, Call: Answers(permitsemaphore.TrySet(names, 2, 0, wake, next()), true),
			After: did(has("2"), "1:1"), Messages: said("2")},
		{Name: "a permanent permit", Call: Answers(permitsemaphore.Acquire(names, []string{a}, noLease, wake, next()), held()),
			After: did(taken("1", Scores{a: never}), "1:1")},
		{Name: "another", Call: Answers(permitsemaphore.Acquire(names, []string{b}, noLease, wake, next()), held()),
			After: did(taken("0", Scores{a: never, b: never}), "1:1")},
		{Name: "list release of two", Call: Answers(permitsemaphore.Release(names, []string{a, b}, wake, next()), true),
			After: did(has("2"), "4:1"), Messages: said("2")},
	})
	Sequence(t, []Row{
		{Name: "the third acquire is told the deadline of the second", Before: taken("0", Deadlines{a: time.Hour, b: lease}),
			Call: Answers(permitsemaphore.Acquire(names, []string{c}, noLease, wake, next()), until(lease))},
	})
	Sequence(t, []Row{
		{Name: "after expiry availablePermits", Before: taken("0", Scores{a: never, b: 5}),
			Call: Answers(permitsemaphore.Status(names, wake), permitsemaphore.Count{Available: 1, Acquired: 1, Exists: true}), After: taken("1", Scores{a: never}), Messages: said("1")},
		{Name: "releasing that id", Call: Answers(permitsemaphore.Release(names, []string{b}, wake, next()), false)},
	})
	five := Scores{a: never, b: never, c: never, "d": never, "e": never}
	call := next()
	Sequence(t, []Row{
		{Name: "setPermits(2) with 5 acquired", Before: taken("0", five), Call: Answers(permitsemaphore.Set(names, 2, wake, call), true),
			After: did(taken("-3", five), fmt.Sprint(call.Seq, ":1")), Messages: said("2")},
		{Name: "getPermits, acquiredPermits, availablePermits",
			Call: Answers(permitsemaphore.Status(names, wake), permitsemaphore.Count{Available: -3, Acquired: 5, Exists: true})},
	})
}

// Redisson's form of this overflows the stack of Lua at some thousands.
func TestAnyNumberOfExpiredPermitsComesBackAtOnce(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		ctx, client := t.Context(), server.Client(t)
		name := server.Key(t, key)
		const expired = 20_000
		members := make([]redis.Z, expired)
		for i := range members {
			members[i] = redis.Z{Member: fmt.Sprintf("%016d", i), Score: float64(i)}
		}
		require.NoError(t, client.Set(ctx, name, 1, 0).Err())
		require.NoError(t, client.ZAdd(ctx, keys.PermitTimeouts(name), members...).Err())
		count, err := Send(ctx, client, permitsemaphore.Status(permitsemaphore.NamesOf(name), wake))
		require.NoError(t, err)
		require.Equal(t, permitsemaphore.Count{Available: expired + 1, Exists: true}, count)
	})
}

func TestAsManyPermitsAsOneOperationMayHave(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		ctx, client := t.Context(), server.Client(t)
		name := server.Key(t, key)
		ids := make([]string, permitsemaphore.MaxIDs)
		for i := range ids {
			ids[i] = fmt.Sprintf("%016d", i)
		}
		require.NoError(t, client.Set(ctx, name, len(ids), 0).Err())
		call := lane.Call{Key: keys.Lanes(name, "session"), Lane: 1, Seq: 1}
		got, err := Send(ctx, client, permitsemaphore.Acquire(permitsemaphore.NamesOf(name), ids, lease, wake, call))
		require.NoError(t, err)
		require.True(t, got.Served)
		alive, err := Send(ctx, client, renewAll([]permitsemaphore.Renewal{{Of: permitsemaphore.NamesOf(name), IDs: ids, Lease: lease}}))
		require.NoError(t, err)
		require.Len(t, alive, len(ids))
		back, err := Send(ctx, client, permitsemaphore.GiveBack(permitsemaphore.NamesOf(name), ids, wake))
		require.NoError(t, err)
		require.EqualValues(t, len(ids), back)
	})
}

// A full server refuses new permits, but keeps and takes back those that there are.
func TestAFullServerRenewsAndTakesPermitsBack(t *testing.T) {
	ctx := t.Context()
	client := redistest.Process(t, "--maxmemory-policy", "noeviction").Client(t)
	seq := int64(0)
	next := func() lane.Call { seq++; return lane.Call{Key: lanes, Lane: 1, Seq: seq} }
	require.NoError(t, client.Set(ctx, key, 3, 0).Err())
	_, err := Send(ctx, client, permitsemaphore.Acquire(names, []string{a, b}, lease, wake, next()))
	require.NoError(t, err)
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())

	alive, err := Send(ctx, client, renewAll([]permitsemaphore.Renewal{{Of: names, IDs: []string{a, b}, Lease: time.Hour}}))
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, alive)
	require.Greater(t, client.ZScore(ctx, permits, a).Val(), float64(time.Now().Add(lease+time.Minute).UnixMilli()))
	updated, err := Send(ctx, client, permitsemaphore.UpdateLease(names, []string{a}, lease, wake, next()))
	require.NoError(t, err)
	require.True(t, updated)
	released, err := Send(ctx, client, permitsemaphore.Release(names, []string{a}, wake, next()))
	require.NoError(t, err)
	require.True(t, released)
	back, err := Send(ctx, client, permitsemaphore.GiveBack(names, []string{b}, wake))
	require.NoError(t, err)
	require.EqualValues(t, 1, back)
	_, err = Send(ctx, client, permitsemaphore.Acquire(names, []string{c}, lease, wake, next()))
	require.ErrorContains(t, err, "OOM", "the server should be full")
	require.Equal(t, "3", client.Get(ctx, key).Val())
}

// A user who may not publish is told all the same what was done. With an error instead, what it takes would be nobody's,
// and what it gives back would seem to have been lost.
func TestARefusedMessageIsNoRefusalOfWhatWasDone(t *testing.T) {
	ctx := t.Context()
	server := redistest.Process(t)
	admin, client := server.Client(t), server.User(t, "resetchannels")
	seq := int64(0)
	next := func() lane.Call { seq++; return lane.Call{Key: lanes, Lane: 1, Seq: seq} }
	expire := func() {
		require.NoError(t, admin.ZAdd(ctx, permits, redis.Z{Score: 1, Member: c}).Err())
		require.NoError(t, admin.Decr(ctx, key).Err())
	}
	set, err := Send(ctx, client, permitsemaphore.TrySet(names, 3, 0, wake, next()))
	require.NoError(t, err)
	require.True(t, set)
	_, err = Send(ctx, client, permitsemaphore.Set(names, 4, wake, next()))
	require.NoError(t, err)
	_, err = Send(ctx, client, permitsemaphore.Add(names, 1, wake, next()))
	require.NoError(t, err)

	expire()
	got, err := Send(ctx, client, permitsemaphore.Acquire(names, []string{a, b}, noLease, wake, next()))
	require.NoError(t, err)
	require.True(t, got.Served)
	expire()
	updated, err := Send(ctx, client, permitsemaphore.UpdateLease(names, []string{a}, lease, wake, next()))
	require.NoError(t, err)
	require.True(t, updated)
	expire()
	count, err := Send(ctx, client, permitsemaphore.Status(names, wake))
	require.NoError(t, err)
	require.Equal(t, permitsemaphore.Count{Available: 3, Acquired: 2, Exists: true}, count)
	expire()
	left, err := Send(ctx, client, permitsemaphore.LeaseTime(names, a, wake))
	require.NoError(t, err)
	require.True(t, left.Held)
	released, err := Send(ctx, client, permitsemaphore.Release(names, []string{a}, wake, next()))
	require.NoError(t, err)
	require.True(t, released)
	back, err := Send(ctx, client, permitsemaphore.GiveBack(names, []string{b}, wake))
	require.NoError(t, err)
	require.EqualValues(t, 1, back)
	require.Equal(t, "5", admin.Get(ctx, key).Val())
}

// renewAll is Renew without a look at notices.
func renewAll(renewals []permitsemaphore.Renewal) scripts.Command[[]bool] {
	return Alive(permitsemaphore.Renew(renewals))
}
