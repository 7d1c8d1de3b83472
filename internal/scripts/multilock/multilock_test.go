package multilock_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/multilock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestFieldsAreThoseOfRedisson(t *testing.T) {
	for value, field := range map[string]string{
		"Jack_001": "7pNoDdizVy2xY792MaFv+w", "Mary_002": "kIX2DFOX4IWct7G7K6tV9A", "a": "qwvAS12pR0CgRitaypEjUw",
		"": "t6rZwibGo2uy1OSmNVe8pg", "0123456789abcdef0123456789abcdef": "08hr0B8iaf3PoSsWAS8sWA",
	} {
		require.Equal(t, field, multilock.Field(value), value)
		require.Len(t, field, multilock.FieldLength)
	}
}

const (
	group   = "g"
	channel = "redisson_lock__channel:{g}"
	u       = "b983c153-7421-469a-addb-44fb92259a1b"
	x, y    = u + ":1", u + ":2"
	lease   = 30 * time.Second
	long    = 90 * time.Second
)

var (
	ab, bc, c = []string{"a", "b"}, []string{"b", "c"}, []string{"c"}
	wake      = scripts.Wake{Publish: "PUBLISH", Channel: channel}
	mine      = scripts.Attempt{Held: true}
)

// The deadlines are the server's time, which the tables cannot name, so each step looks at the hash itself: value,
// owner, holds, and roughly what is left.
func TestAGroupFromTheFirstHoldToTheLast(t *testing.T) {
	require.Equal(t, channel, keys.LockChannel(group))
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		twice := func(cmd scripts.Command[scripts.Attempt], want scripts.Attempt) {
			t.Helper()
			for range 2 {
				require.Equal(t, want, send(b, cmd))
			}
		}
		twice(multilock.Acquire(group, x, ab, lease), mine)
		b.has(holding{x, "1", lease}, ab...)
		b.lasts(lease)
		require.Equal(t, map[string]string{
			"a": x, "a:" + x + ":lock_count": "1", "b": x, "b:" + x + ":lock_count": "1",
		}, b.undated(), "the golden state")

		refusal := send(b, multilock.Acquire(group, y, bc, long))
		require.False(t, refusal.Held)
		require.InDelta(t, lease.Seconds(), refusal.Remaining.Seconds(), 5)
		require.Len(t, b.undated(), 4, "a refusal changes nothing")
		twice(multilock.Acquire(group, y, c, long), mine)
		b.has(holding{y, "1", long}, c...)
		b.has(holding{x, "1", lease}, ab...)
		b.lasts(long)

		require.True(t, send(b, multilock.Recount(group, x, ab, 2, 0)))
		b.has(holding{x, "2", lease}, ab...)
		require.Equal(t, mine, send(b, multilock.Acquire(group, x, ab, 9*long)), "a first acquisition that is executed late")
		b.has(holding{x, "2", lease}, ab...)
		for range 2 {
			require.True(t, send(b, multilock.Recount(group, x, ab, 2, 0)))
			require.Equal(t, "2", b.fields()["a:"+x+":lock_count"])
			require.True(t, send(b, multilock.Recount(group, x, ab, 1, 2*long)))
			b.has(holding{x, "1", 2 * long}, ab...)
			b.lasts(2 * long)
			require.True(t, send(b, multilock.Recount(group, x, ab, 1, lease)), "lengthens only")
			b.has(holding{x, "1", 2 * long}, ab...)
			require.Equal(t, []bool{true}, send(b, renew(c, []multilock.Renewal{{Key: group, Owner: y, Lease: long}})))
			require.Equal(t, []bool{true}, send(b, renew(c, []multilock.Renewal{{Key: group, Owner: y, Lease: lease}})), "lengthens only")
			require.Equal(t, []bool{false}, send(b, renew(bc, []multilock.Renewal{{Key: group, Owner: y, Lease: 9 * long}})))
			require.False(t, send(b, multilock.Recount(group, x, bc, 7, 9*long)), "one of them is another's")
		}
		b.has(holding{y, "1", long}, c...)
		b.has(holding{x, "1", 2 * long}, ab...)
		require.Empty(t, b.heard())

		require.True(t, send(b, multilock.Release(group, x, ab, wake, nil)).Freed)
		require.Equal(t, 1, len(b.heard()))
		require.False(t, send(b, multilock.Release(group, x, ab, wake, nil)).Freed, "the second execution")
		require.False(t, send(b, multilock.Release(group, x, c, wake, nil)).Freed, "another's")
		require.Equal(t, map[string]string{"c": y, "c:" + y + ":lock_count": "1"}, b.undated())
		require.True(t, send(b, multilock.Force(group, bc, wake)))
		require.Equal(t, 1, len(b.heard()))
		require.False(t, send(b, multilock.Force(group, bc, wake)))
		require.Empty(t, b.heard())
		require.Empty(t, b.undated())
	})
}

// Redisson's waiters ask at the moment when a deadline passes. They lengthen the TTL only where it is more than 0, and
// would lose their hold with a hash that ends with the deadline.
func TestTheHashOutlivesTheLastDeadline(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		outlives := func(owner, value string) {
			t.Helper()
			ends, err := scripts.Number(b.fields()[value+":"+owner+":expire_time"])
			require.NoError(t, err)
			ttl := b.client.PTTL(t.Context(), group).Val()
			beyond := b.now().Add(ttl).Sub(time.UnixMilli(ends))
			require.InDelta(t, time.Second, beyond, float64(time.Second/2))
		}
		send(b, multilock.Acquire(group, x, ab, lease))
		outlives(x, "a")
		send(b, multilock.Acquire(group, y, c, lease+time.Minute))
		outlives(y, "c")
		send(b, multilock.Recount(group, x, ab, 2, lease+2*time.Minute))
		outlives(x, "a")
		send(b, renew(c, []multilock.Renewal{{Key: group, Owner: y, Lease: lease + 3*time.Minute}}))
		outlives(y, "c")
		b.expire(lease + 3*time.Minute) // as Redisson's renewal leaves it
		send(b, renew(c, []multilock.Renewal{{Key: group, Owner: y, Lease: lease + 3*time.Minute}}))
		outlives(y, "c")
	})
}

// What Redisson leaves of a holder that died: fields whose deadline has passed, kept by the TTL of other values.
func TestValuesWhoseDeadlineHasPassedAreFree(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		expired := func(owner string, values ...string) {
			for _, v := range values {
				b.set(v, owner, v+":"+owner+":expire_time", "1000", v+":"+owner+":lock_count", "3")
			}
			b.expire(long)
		}
		expired(y, "a")
		require.Equal(t, scripts.Status{}, send(b, multilock.Status(group, y, ab)))
		require.Equal(t, scripts.Status{}, send(b, multilock.Status(group, y, []string{"a"})))
		require.Equal(t, []multilock.Holder{{}, {}}, send(b, multilock.Inspect(group, ab)))
		require.False(t, send(b, multilock.Recount(group, y, []string{"a"}, 1, lease)), "its owner has lost it")
		require.Equal(t, []bool{false}, send(b, renew([]string{"a"}, []multilock.Renewal{{Key: group, Owner: y, Lease: lease}})))
		require.Equal(t, mine, send(b, multilock.Acquire(group, x, ab, lease)))
		require.Equal(t, map[string]string{
			"a": x, "a:" + x + ":lock_count": "1", "b": x, "b:" + x + ":lock_count": "1",
		}, b.undated(), "nothing is left of the dead holder")
		b.lasts(long)
		require.False(t, send(b, multilock.Release(group, y, []string{"a"}, wake, nil)).Freed)

		b.flush()
		expired(y, "a", "b")
		require.False(t, send(b, multilock.Release(group, y, ab, wake, nil)).Freed, "too late, but it leaves nothing")
		require.Empty(t, b.undated())
		expired(y, "c")
		require.False(t, send(b, multilock.Force(group, c, wake)))
		require.Empty(t, b.undated())
	})
}

// The deadline is a part of a second ahead. Where the machine was too slow for that, by the clock of the server, another try is made.
func TestAValueIsNotFreeBeforeItsDeadline(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		for {
			b.flush()
			before, err := b.client.Time(t.Context()).Result()
			require.NoError(t, err)
			deadline := before.UnixMilli() + 400
			b.set("a", y, "a:"+y+":expire_time", strconv.FormatInt(deadline, 10), "a:"+y+":lock_count", "1")
			b.expire(long)
			got := send(b, multilock.Acquire(group, x, []string{"a"}, lease))
			after, err := b.client.Time(t.Context()).Result()
			require.NoError(t, err)
			if after.UnixMilli() < deadline {
				require.False(t, got.Held)
				return
			}
		}
	})
}

func TestAnOwnersOwnLeftoversAreTakenAgain(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		b.set("a", x, "a:"+x+":expire_time", "1000", "a:"+x+":lock_count", "3")
		require.Equal(t, mine, send(b, multilock.Acquire(group, x, ab, lease)))
		b.has(holding{x, "1", lease}, ab...)
	})
}

func TestAHashWithoutTTLGetsNone(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		send(b, multilock.Acquire(group, x, ab, lease))
		require.NoError(t, b.client.Persist(t.Context(), group).Err())
		send(b, multilock.Acquire(group, y, c, long))
		require.Negative(t, b.client.PTTL(t.Context(), group).Val())
	})
}

// The fields of its last hold do not say that a value is still an owner's.
func TestAValueIsItsOwnersAndNobodyElses(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		send(b, multilock.Acquire(group, x, ab, lease))
		b.set("a", y)
		require.False(t, send(b, multilock.Recount(group, x, ab, 2, long)))
		require.Equal(t, []bool{false}, send(b, renew(ab, []multilock.Renewal{{Key: group, Owner: x, Lease: long}})))
		b.has(holding{x, "1", lease}, "b")
	})
}

func TestGroupsOfTheSameValuesAreRenewedInOneScript(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		const first, second, third = "{g}1", "{g}2", "{g}3"
		send(b, multilock.Acquire(first, x, ab, lease))
		send(b, multilock.Acquire(second, y, ab, lease))
		send(b, multilock.Acquire(third, y, ab, lease))
		require.Equal(t, []bool{true, false, true}, send(b, renew(ab, []multilock.Renewal{
			{Key: first, Owner: x, Lease: long}, {Key: second, Owner: x, Lease: 9 * long}, {Key: third, Owner: y, Lease: 3 * long},
		})))
		for name, left := range map[string]time.Duration{first: long, second: lease, third: 3 * long} {
			require.EqualValues(t, 6, b.client.HLen(t.Context(), name).Val(), "three fields a value")
			for _, value := range ab {
				status := send(b, multilock.Status(name, x, []string{value}))
				require.InDelta(t, left.Seconds(), status.TTL.Seconds(), 5, name)
			}
		}
	})
}

func TestOneValueThatIsGoneIsTheLossOfAll(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		send(b, multilock.Acquire(group, x, ab, lease))
		require.True(t, send(b, multilock.Force(group, []string{"b"}, wake)))
		require.False(t, send(b, multilock.Recount(group, x, ab, 2, long)))
		require.Equal(t, []bool{false}, send(b, renew(ab, []multilock.Renewal{{Key: group, Owner: x, Lease: long}})))
		b.has(holding{x, "1", lease}, "a")
		require.Equal(t, int64(0), send(b, multilock.Status(group, x, ab)).Holds)
		require.False(t, send(b, multilock.Release(group, x, ab, wake, nil)).Freed)
		require.Empty(t, b.undated(), "what was left of it is free")
	})
}

func TestQueriesTellOwnersHoldsAndTimes(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv)
		send(b, multilock.Acquire(group, x, ab, lease))
		send(b, multilock.Recount(group, x, ab, 2, 0))
		status := send(b, multilock.Status(group, x, ab))
		require.True(t, status.Exists)
		require.EqualValues(t, 2, status.Holds)
		require.InDelta(t, lease.Seconds(), status.TTL.Seconds(), 5)
		require.Zero(t, send(b, multilock.Status(group, y, ab)).Holds)
		require.Zero(t, send(b, multilock.Status(group, x, bc)).Holds, "it has only one of them")
		holders := send(b, multilock.Inspect(group, bc))
		require.Equal(t, x, holders[0].Owner)
		require.EqualValues(t, 2, holders[0].Holds)
		require.Equal(t, multilock.Holder{}, holders[1])
	})
}

func TestAKeyThatIsNoGroupIsRefused(t *testing.T) {
	other := statetest.State{group: {Value: "7", TTL: lease}}
	statetest.Table(t, []statetest.Row{
		{Name: "acquire", Before: other, Call: statetest.Fails(multilock.Acquire(group, x, ab, lease), "WRONGTYPE")},
		{Name: "recount", Before: other, Call: statetest.Fails(multilock.Recount(group, x, ab, 1, lease), "WRONGTYPE")},
		{Name: "release", Before: other, Call: statetest.Fails(multilock.Release(group, x, ab, wake, nil), "WRONGTYPE")},
		{Name: "force", Before: other, Call: statetest.Fails(multilock.Force(group, ab, wake), "WRONGTYPE")},
		{Name: "status", Before: other, Call: statetest.Fails(multilock.Status(group, x, ab), "WRONGTYPE")},
		{Name: "inspect", Before: other, Call: statetest.Fails(multilock.Inspect(group, ab), "WRONGTYPE")},
		{Name: "renew says that it is lost", Before: other,
			Call: statetest.Answers(renew(ab, []multilock.Renewal{{Key: group, Owner: x, Lease: lease}}), []bool{false})},
	})
}

func TestALockOfAnotherKindIsRefused(t *testing.T) {
	plain := statetest.State{group: {Value: statetest.Hash{y: "1"}, TTL: lease}}
	reading := statetest.State{group: {Value: statetest.Hash{"mode": "read", y: "1"}, TTL: lease}}
	writing := statetest.State{group: {Value: statetest.Hash{"mode": "write", y + ":write": "1"}, TTL: lease}}
	acquire := statetest.Fails(multilock.Acquire(group, x, ab, lease), "another kind")
	statetest.Table(t, []statetest.Row{
		{Name: "a plain lock", Before: plain, Call: acquire},
		{Name: "a lock for reading", Before: reading, Call: acquire},
		{Name: "a lock for writing", Before: writing, Call: acquire},
	})
}

// renew is Renew without a look at notices.
func renew(fields []string, renewals []multilock.Renewal) scripts.Command[[]bool] {
	return statetest.Alive(multilock.Renew(fields, renewals))
}
