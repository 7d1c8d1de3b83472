package semaphore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	key   = "s"
	lanes = "redlatch_lanes:{s}:session"
	keep  = 150 * time.Second
	ttl   = time.Hour
	most  = "9223372036854775807"
)

var (
	wake  = scripts.Wake{Publish: "PUBLISH", Channel: "redisson_sc:{s}"}
	first = lane.Call{Key: lanes, Lane: 1, Seq: 1}
	wrong = State{key: {Value: Hash{"owner": "1"}, TTL: ttl}} // a lock
	text  = State{key: {Value: "many", TTL: ttl}}
)

// has is a semaphore without a TTL.
func has(permits string) State { return State{key: {Value: permits}} }

// did is a semaphore, with the lane in which an operation has stored its number and reply.
func did(permits string, ttl time.Duration, seqAndReply string) State {
	return State{key: {Value: permits, TTL: ttl}, lanes: {Value: Hash{"1": seqAndReply}, TTL: keep}}
}

// only is no semaphore, with the lane.
func only(seqAndReply string) State { return State{lanes: {Value: Hash{"1": seqAndReply}, TTL: keep}} }

func said(payload string) []Message { return []Message{{Channel: wake.Channel, Payload: payload}} }

// none is nobody served where so many permits are available.
func none(have int64) lane.Granted { return lane.Granted{Again: -1, Short: lane.TooFewNow, Have: have} }

// missing is nobody served where there is no semaphore.
func missing() lane.Granted { return lane.Granted{Again: -1, Short: lane.Missing} }

func served() lane.Granted { return lane.Granted{Served: true, Again: -1} }

func TestAcquire(t *testing.T) {
	acquire := func(n int64) scripts.Command[lane.Granted] { return semaphore.Acquire(key, n, first) }
	Table(t, []Row{
		{Name: "Permits are taken", Before: has("5"), Call: Answers(acquire(3), served()), After: did("2", 0, "1:1")},
		{Name: "The last ones too, and the key keeps its TTL",
			Before: State{key: {Value: "3", TTL: ttl}}, Call: Answers(acquire(3), served()), After: did("0", ttl, "1:1")},
		{Name: "All or none", Before: has("2"), Call: Answers(acquire(3), none(2))},
		{Name: "None are available", Before: has("0"), Call: Answers(acquire(1), none(0))},
		{Name: "Fewer than none are available", Before: has("-6"), Call: Answers(acquire(1), none(0))},
		{Name: "Numbers are compared, not texts", Before: has("10"), Call: Answers(acquire(9), served()), After: did("1", 0, "1:1")},
		{Name: "As many as there can be", Before: has(most), Call: Answers(acquire(1<<31-1), served()),
			After: did("9223372034707292160", 0, "1:1")},
		{Name: "A semaphore that does not exist has none", Before: State{}, Call: Answers(acquire(1), missing())},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(acquire(1), "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(acquire(1), "not an integer")},
		{Name: "A fraction is none either", Before: has("1.5"), Call: Fails(acquire(1), "not an integer")},
	})
}

func TestWaitTakesPermitsBesideForThoseBehind(t *testing.T) {
	wait := func(n, beside int64) scripts.Command[lane.Granted] {
		return semaphore.Wait(key, n, beside, wake, row.Candidate{ID: "p:1", Patience: time.Second}, first)
	}
	also := func(n int64) lane.Granted { return lane.Granted{Served: true, More: n, Again: -1} }
	Table(t, []Row{
		{Name: "As many as it may", Before: has("9"), Call: Answers(wait(2, 4), also(4)), After: did("3", 0, "1:33")},
		{Name: "Or for as many as there are enough for", Before: State{key: {Value: "5", TTL: ttl}}, Call: Answers(wait(2, 4), also(2)), After: did("1", ttl, "1:17")},
		{Name: "None where there are only its own", Before: has("2"), Call: Answers(wait(2, 4), served()), After: did("0", 0, "1:1")},
		{Name: "None where it is refused", Before: has("1"), Call: Answers(wait(2, 4), none(1))},
	})
}

func TestCancelAcquire(t *testing.T) {
	call := lane.Call{Key: lanes, Lane: 1, Seq: 5}
	cancel := semaphore.CancelAcquire(key, 3, wake, call)
	Table(t, []Row{
		{Name: "What was taken is given back and announced, and the key keeps its TTL",
			Before: did("2", ttl, "4:1"), Call: Answers(cancel, 1), After: did("5", ttl, "5:1"), Messages: said("5")},
		{Name: "With what was taken beside", Before: did("2", 0, "4:25"), Call: Answers(cancel, 25), After: did("8", 0, "5:25"), Messages: said("8")},
		{Name: "Nobody is told of a total that is not above 0",
			Before: did("-3", 0, "4:1"), Call: Answers(cancel, 1), After: did("0", 0, "5:1")},
		{Name: "What was not taken is not given back, and cannot be taken later",
			Before: did("2", 0, "3:1"), Call: Answers(cancel, 0), After: did("2", 0, "5:0")},
		{Name: "Neither in a lane of which nothing is known",
			Before: has("2"), Call: Answers(cancel, 0), After: did("2", 0, "5:0")},
		{Name: "A semaphore that was deleted meanwhile stays deleted",
			Before: only("4:1"), Call: Answers(cancel, 1), After: only("5:1")},
		{Name: "A number out of range changes nothing",
			Before: did(most, 0, "4:1"), Call: Fails(cancel, "overflow").Lengthens()},
		{Name: "Nothing is undone where a lock has taken the name",
			Before: State{key: {Value: Hash{"owner": "1"}}, lanes: {Value: Hash{"1": "4:1"}, TTL: keep}}, Call: Fails(cancel, "WRONGTYPE").Lengthens()},
	})
}

func TestRelease(t *testing.T) {
	release := func(n int64) scripts.Command[bool] { return semaphore.Release(key, n, wake, first) }
	Table(t, []Row{
		{Name: "The new total is announced, and the key keeps its TTL",
			Before: State{key: {Value: "2", TTL: ttl}}, Call: Answers(release(2), true), After: did("4", ttl, "1:1"), Messages: said("4")},
		{Name: "A semaphore that does not exist is created",
			Before: State{}, Call: Answers(release(2), true), After: did("2", 0, "1:1"), Messages: said("2")},
		{Name: "A total of 0 is not announced", Before: has("-2"), Call: Answers(release(2), true), After: did("0", 0, "1:1")},
		{Name: "Nor one below", Before: has("-5"), Call: Answers(release(2), true), After: did("-3", 0, "1:1")},
		{Name: "Beyond the exact numbers of Lua the total is exact",
			Before: has("9007199254740992"), Call: Answers(release(1), true),
			After: did("9007199254740993", 0, "1:1"), Messages: said("9007199254740993")},
		{Name: "A number out of range changes nothing", Before: has(most), Call: Fails(release(1), "overflow")},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(release(1), "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(release(1), "not an integer")},
	})
}

// A lane that was used before, and a row in which no process waits, make the release a short one.
func TestReleaseAlone(t *testing.T) {
	call, withRow := lane.Call{Key: lanes, Lane: 1, Seq: 5}, wake
	withRow.Row = keys.SemaphoreRow(key)
	release := func(n int64) scripts.Command[bool] { return semaphore.Release(key, n, withRow, call) }
	Table(t, []Row{
		{Name: "The new total is announced, and the key keeps its TTL",
			Before: did("2", ttl, "4:1"), Call: Answers(release(2), true), After: did("4", ttl, "5:1"), Messages: said("4")},
		{Name: "A semaphore that does not exist is created",
			Before: only("4:1"), Call: Answers(release(2), true), After: did("2", 0, "5:1"), Messages: said("2")},
		{Name: "A total of 0 is not announced", Before: did("-2", 0, "4:1"), Call: Answers(release(2), true), After: did("0", 0, "5:1")},
		{Name: "Nor one below", Before: did("-5", 0, "4:1"), Call: Answers(release(2), true), After: did("-3", 0, "5:1")},
		{Name: "Beyond the exact numbers of Lua the total is exact",
			Before: did("9007199254740992", 0, "4:1"), Call: Answers(release(1), true),
			After: did("9007199254740993", 0, "5:1"), Messages: said("9007199254740993")},
		{Name: "A number out of range changes nothing", Before: did(most, 0, "4:1"), Call: Fails(release(1), "overflow").Lengthens()},
		{Name: "An operation that was given up is refused", Before: did("2", 0, "6:1"), Call: Fails(release(1), "REDLATCH-STALE")},
	})
}

func TestReleaseIfExists(t *testing.T) {
	release := func(n int64) scripts.Command[bool] { return semaphore.ReleaseIfExists(key, n, wake, first) }
	Table(t, []Row{
		{Name: "The new total is announced, and the key keeps its TTL",
			Before: State{key: {Value: "2", TTL: ttl}}, Call: Answers(release(2), true), After: did("4", ttl, "1:1"), Messages: said("4")},
		{Name: "A total of 0 is not announced", Before: has("-2"), Call: Answers(release(2), true), After: did("0", 0, "1:1")},
		{Name: "A semaphore that does not exist is not created", Before: State{}, Call: Answers(release(2), false)},
		{Name: "A number out of range changes nothing", Before: has(most), Call: Fails(release(1), "overflow")},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(release(1), "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(release(1), "not an integer")},
	})
}

func TestTrySet(t *testing.T) {
	set := func(n int64, ttl time.Duration) scripts.Command[bool] {
		return semaphore.TrySet(key, n, ttl, wake, first)
	}
	Table(t, []Row{
		{Name: "A semaphore that does not exist is set and announced",
			Before: State{}, Call: Answers(set(5, 0), true), After: did("5", 0, "1:1"), Messages: said("5")},
		{Name: "With a TTL",
			Before: State{}, Call: Answers(set(5, ttl), true), After: did("5", ttl, "1:1"), Messages: said("5")},
		{Name: "0 permits are not announced", Before: State{}, Call: Answers(set(0, 0), true), After: did("0", 0, "1:1")},
		{Name: "One that exists is left alone", Before: has("2"), Call: Answers(set(5, ttl), false)},
		{Name: "One with 0 permits exists", Before: has("0"), Call: Answers(set(5, 0), false)},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(set(5, 0), "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(set(5, 0), "not an integer")},
	})
}

func TestAdd(t *testing.T) {
	add := func(d int64) scripts.Command[int64] { return semaphore.Add(key, d, wake, first) }
	Table(t, []Row{
		{Name: "Permits are added, and the key keeps its TTL",
			Before: State{key: {Value: "2", TTL: ttl}}, Call: Answers(add(3), 5), After: did("5", ttl, "1:5"), Messages: said("5")},
		{Name: "Permits are taken away", Before: has("5"), Call: Answers(add(-3), 2), After: did("2", 0, "1:2"), Messages: said("2")},
		{Name: "A total of 0 is not announced", Before: has("3"), Call: Answers(add(-3), 0), After: did("0", 0, "1:0")},
		{Name: "Nor one below", Before: has("4"), Call: Answers(add(-10), -6), After: did("-6", 0, "1:-6")},
		{Name: "A semaphore that does not exist has 0",
			Before: State{}, Call: Answers(add(3), 3), After: did("3", 0, "1:3"), Messages: said("3")},
		{Name: "A number out of range changes nothing", Before: has(most), Call: Fails(add(1), "overflow")},
		{Name: "Neither at the other end", Before: has("-9223372036854775807"), Call: Fails(add(-2), "overflow")},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(add(1), "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(add(1), "not an integer")},
	})
}

func TestDrain(t *testing.T) {
	drain := semaphore.Drain(key, first)
	Table(t, []Row{
		{Name: "All permits are taken, and the key keeps its TTL",
			Before: State{key: {Value: "95", TTL: ttl}}, Call: Answers(drain, 95), After: did("0", ttl, "1:95")},
		{Name: "A negative number is answered and forgiven", Before: has("-6"), Call: Answers(drain, -6), After: did("0", 0, "1:-6")},
		{Name: "None are left to take", Before: has("0"), Call: Answers(drain, 0)},
		{Name: "A semaphore that does not exist has none", Before: State{}, Call: Answers(drain, 0)},
		{Name: "The largest number is answered exactly",
			Before: has(most), Call: Answers(drain, 9223372036854775807), After: did("0", 0, "1:"+most)},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(drain, "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(drain, "not an integer")},
	})
}

func TestAvailable(t *testing.T) {
	available := lane.Read(key)
	Table(t, []Row{
		{Name: "The number is answered", Before: has("5"), Call: Answers(available, 5)},
		{Name: "A negative one too", Before: has("-6"), Call: Answers(available, -6)},
		{Name: "The largest one exactly", Before: has(most), Call: Answers(available, 9223372036854775807)},
		{Name: "A semaphore that does not exist has none", Before: State{}, Call: Answers(available, 0)},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(available, "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(available, "not an integer")},
	})
}

func TestDelete(t *testing.T) {
	remove := semaphore.Delete(key, first)
	Table(t, []Row{
		{Name: "A semaphore is removed, and nobody is told", Before: has("5"), Call: Answers(remove, true), After: only("1:1")},
		{Name: "One with 0 permits too", Before: has("0"), Call: Answers(remove, true), After: only("1:1")},
		{Name: "There is nothing to remove", Before: State{}, Call: Answers(remove, false)},
		{Name: "A lock is not removed", Before: wrong, Call: Fails(remove, "WRONGTYPE")},
		{Name: "Somebody's text is not removed", Before: text, Call: Fails(remove, "not an integer")},
	})
}

func TestExpireAndPersist(t *testing.T) {
	expire, persist := semaphore.Expire(key, time.Minute, first), semaphore.Persist(key, first)
	Table(t, []Row{
		{Name: "A TTL is set", Before: has("5"), Call: Answers(expire, true), After: did("5", time.Minute, "1:1")},
		{Name: "A longer one is shortened",
			Before: State{key: {Value: "5", TTL: ttl}}, Call: Answers(expire, true), After: did("5", time.Minute, "1:1")},
		{Name: "There is nothing that could expire", Before: State{}, Call: Answers(expire, false)},
		{Name: "The TTL is removed", Before: State{key: {Value: "5", TTL: ttl}}, Call: Answers(persist, true), After: did("5", 0, "1:1")},
		{Name: "There is no TTL to remove", Before: has("5"), Call: Answers(persist, false)},
		{Name: "There is nothing to keep", Before: State{}, Call: Answers(persist, false)},
		{Name: "A lock does not expire", Before: wrong, Call: Fails(expire, "WRONGTYPE")},
		{Name: "A lock does not lose its TTL", Before: wrong, Call: Fails(persist, "WRONGTYPE")},
	})
}

// The golden states of the semaphore. Ours differs in one: it does not announce -6, at which Redisson's waiters raise.
func TestGoldenStates(t *testing.T) {
	require.Equal(t, wake.Channel, keys.SemaphoreChannel(key))
	require.Equal(t, lanes, keys.Lanes(key, "session"))
	seq := int64(0)
	next := func() lane.Call { seq++; return lane.Call{Key: lanes, Lane: 1, Seq: seq} }
	Sequence(t, []Row{
		{Name: "trySet(5)", Before: State{}, Call: Answers(semaphore.TrySet(key, 5, 0, wake, next()), true),
			After: did("5", 0, "1:1"), Messages: said("5")},
		{Name: "acquire 3", Call: Answers(semaphore.Acquire(key, 3, next()), served()), After: did("2", 0, "2:1")},
		{Name: "acquire 3 again", Call: Answers(semaphore.Acquire(key, 3, next()), none(2))},
		{Name: "release(2)", Call: Answers(semaphore.Release(key, 2, wake, next()), true), After: did("4", 0, "4:1"), Messages: said("4")},
		{Name: "add(-10)", Call: Answers(semaphore.Add(key, -10, wake, next()), -6), After: did("-6", 0, "5:-6")},
		{Name: "add(101)", Call: Answers(semaphore.Add(key, 101, wake, next()), 95), After: did("95", 0, "6:95"), Messages: said("95")},
		{Name: "drain", Call: Answers(semaphore.Drain(key, next()), 95), After: did("0", 0, "7:95")},
	})
}

func TestNoPermitIsLostOrInventedWhicheverWayAnAcquireIsGivenUp(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		ctx, client := t.Context(), server.Client(t)
		for _, arrives := range []string{"before", "after", "never"} {
			t.Run("the acquire arrives "+arrives, func(t *testing.T) {
				name := server.Key(t, key)
				require.NoError(t, client.Set(ctx, name, "5", 0).Err())
				call := func(seq int64) lane.Call { return lane.Call{Key: keys.Lanes(name, "session"), Lane: 1, Seq: seq} }
				took := 0
				acquire := semaphore.Acquire(name, 3, call(1))
				if arrives == "before" {
					took = 1
					got, err := Send(ctx, client, acquire)
					require.NoError(t, err)
					require.Equal(t, served(), got)
				}
				for range 2 { // its answer too may be lost
					back, err := Send(ctx, client, semaphore.CancelAcquire(name, 3, wake, call(2)))
					require.NoError(t, err)
					require.EqualValues(t, took, back)
				}
				if arrives != "never" { // a copy of it that was long on its way
					_, err := Send(ctx, client, acquire)
					require.True(t, lane.Stale(err), "answered %v", err)
				}
				require.Equal(t, "5", client.Get(ctx, name).Val())
			})
		}
	})
}

func TestAFullServerTakesPermitsBack(t *testing.T) {
	ctx := t.Context()
	client := redistest.Process(t, "--maxmemory-policy", "noeviction").Client(t)
	require.NoError(t, client.Set(ctx, key, "5", 0).Err())
	seq := int64(0)
	next := func() lane.Call { seq++; return lane.Call{Key: lanes, Lane: 1, Seq: seq} }
	took, err := Send(ctx, client, semaphore.Acquire(key, 2, next()))
	require.NoError(t, err)
	require.Equal(t, served(), took)
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())

	back, err := Send(ctx, client, semaphore.CancelAcquire(key, 2, wake, next()))
	require.NoError(t, err)
	require.EqualValues(t, 1, back)
	gave, err := Send(ctx, client, semaphore.Release(key, 1, wake, next()))
	require.NoError(t, err)
	require.True(t, gave)
	require.Equal(t, "6", client.Get(ctx, key).Val())
	gave, err = Send(ctx, client, semaphore.ReleaseIfExists(key, 1, wake, next()))
	require.NoError(t, err)
	require.True(t, gave)

	_, err = Send(ctx, client, semaphore.Acquire(key, 2, next()))
	require.ErrorContains(t, err, "OOM", "the server should be full")
	require.Equal(t, "7", client.Get(ctx, key).Val())
	require.Equal(t, "4:1", client.HGet(ctx, lanes, "1").Val(), "a refused operation is not remembered")
}

// Of an error it is believed that nothing was executed, and the program may repeat the operation. So whoever may not publish
// is told what was done; that waiters poll, for they may not listen either, is for the log.
func TestARefusedMessageIsNoRefusalOfWhatWasDone(t *testing.T) {
	ctx := t.Context()
	server := redistest.Process(t)
	admin, client := server.Client(t), server.User(t, "resetchannels")
	seq := int64(0)
	next := func() lane.Call { seq++; return lane.Call{Key: lanes, Lane: 1, Seq: seq} }

	set, err := Send(ctx, client, semaphore.TrySet(key, 1, 0, wake, next()))
	require.NoError(t, err)
	require.True(t, set)
	total, err := Send(ctx, client, semaphore.Add(key, 1, wake, next()))
	require.NoError(t, err)
	require.EqualValues(t, 2, total)
	exists, err := Send(ctx, client, semaphore.Release(key, 2, wake, next()))
	require.NoError(t, err)
	require.True(t, exists)
	exists, err = Send(ctx, client, semaphore.ReleaseIfExists(key, 1, wake, next()))
	require.NoError(t, err)
	require.True(t, exists)
	_, err = Send(ctx, client, semaphore.Acquire(key, 3, next()))
	require.NoError(t, err)
	served, err := Send(ctx, client, semaphore.CancelAcquire(key, 3, wake, next()))
	require.NoError(t, err)
	require.EqualValues(t, 1, served)
	require.Equal(t, "5", admin.Get(ctx, key).Val())
}

func TestKeep(t *testing.T) {
	alone := wake
	alone.Row = "redlatch_semaphore_row:{s}"
	keep := semaphore.Keep(key, 2, "session", alone, first)
	Table(t, []Row{
		{Name: "What nobody else wants is kept", Before: State{key: {Value: "0", TTL: ttl}}, Call: Answers(keep, row.Kept), After: did("0", ttl, "1:1")},
		{Name: "A debt is paid", Before: has("-1"), Call: Answers(keep, 0), After: did("1", 0, "1:0"), Messages: said("1")},
		{Name: "As far as it goes", Before: has("-5"), Call: Answers(keep, 0), After: did("-3", 0, "1:0")},
		{Name: "A semaphore that is gone is created", Before: State{}, Call: Answers(keep, 0), After: did("2", 0, "1:0"), Messages: said("2")},
		{Name: "Without a row nobody is known", Before: has("0"), Call: Answers(semaphore.Keep(key, 2, "session", wake, first), 0),
			After: did("2", 0, "1:0"), Messages: said("2")},
		{Name: "A second execution keeps too, whatever has changed", Before: did("-7", 0, "1:1"), Call: Answers(keep, row.Kept)},
		{Name: "A second execution gives nothing back", Before: did("7", 0, "1:0"), Call: Answers(keep, 0)},
		{Name: "A lock is no semaphore", Before: wrong, Call: Fails(keep, "WRONGTYPE")},
		{Name: "Text is no number", Before: text, Call: Fails(keep, "not an integer")},
	})
}

func TestYield(t *testing.T) {
	yield := semaphore.Yield(key, 2, wake, lane.Call{Key: lanes, Lane: 1, Seq: 5})
	late := semaphore.Keep(key, 2, "session", wake, lane.Call{Key: lanes, Lane: 1, Seq: 4})
	Table(t, []Row{
		{Name: "What was kept is given back", Before: did("0", ttl, "4:1"), Call: Answers(yield, 1), After: did("2", ttl, "5:1"), Messages: said("2")},
		{Name: "What was given back is not given back twice", Before: did("4", 0, "4:0"), Call: Answers(yield, 0), After: did("4", 0, "5:0")},
		{Name: "Nor for outsiders", Before: did("4", 0, "4:2"), Call: Answers(yield, 2), After: did("4", 0, "5:2")},
		{Name: "Of a keep that was not executed too", Before: did("0", 0, "2:1"), Call: Answers(yield, 1), After: did("2", 0, "5:1"), Messages: said("2")},
		{Name: "Once", Before: did("9", 0, "5:2"), Call: Answers(yield, 2)},
		{Name: "And a late keep is refused", Before: did("9", 0, "5:2"), Call: Fails(late, "REDLATCH-STALE")},
	})
}
