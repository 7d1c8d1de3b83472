package rwlock_test

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	plain "github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	key     = "rw"
	channel = "redisson_rwlock:{rw}"
	writers = "redlatch_rwlock_writers:{rw}"
	record  = "redlatch_rwlock_strangers:{rw}"
	list    = "redlatch_rwlock_readers:{rw}"
	u       = "b983c153-7421-869a-addb-44fb92259a1b" // a session of ours
	a, b    = u + ":1", u + ":2"
	aw, bw  = a + ":write", b + ":write"
	java    = "b983c153-7421-469a-addb-44fb92259a1b:3" // a reader of Redisson
	short   = 5 * time.Second
	lease   = 30 * time.Second
	long    = 60 * time.Second
	forever = -time.Millisecond // what a reply says of a key without TTL
)

var (
	wake    = scripts.Wake{Publish: "PUBLISH", Channel: channel}
	read0   = []Message{{Channel: channel, Payload: "0"}}
	write1  = []Message{{Channel: channel, Payload: "1"}}
	free    = State{}
	plainly = State{key: {Value: Hash{u + ":9": "1"}, TTL: lease}} // a lock of the plain kind
	other   = State{key: {Value: "7", TTL: lease}}                 // no lock at all
	mine    = scripts.Attempt{Held: true}
	quiet   rwlock.Announcement
	loud    = rwlock.Announcement{Session: u, For: 6 * time.Second}
)

// lock is a hash in the given mode, with the markers of its readers.
func lock(mode string, ttl time.Duration, fields Hash, markers ...State) State {
	all := Hash{"mode": mode}
	maps.Copy(all, fields)
	return with(State{key: {Value: all, TTL: ttl}}, markers...)
}

func with(state State, more ...State) State {
	state = maps.Clone(state)
	for _, m := range more {
		maps.Copy(state, m)
	}
	return state
}

// marked are the markers of an owner, from number 1 on; 0 stands for one that has expired.
func marked(owner string, ttls ...time.Duration) State {
	state := State{}
	for i, ttl := range ttls {
		if ttl != 0 {
			state["{rw}:"+owner+":rwlock_timeout:"+strconv.Itoa(i+1)] = Key{Value: "1", TTL: ttl}
		}
	}
	return state
}

// listed is the list of our readers, with one of them whose promise lasts as long as the list itself.
func listed(owner string, ttl time.Duration) State {
	return State{list: {Value: Deadlines{owner: ttl}, TTL: ttl}}
}

func announced(d time.Duration) State {
	return State{writers: {Value: Deadlines{u: d}, TTL: loud.For}}
}

// recorded is the record of the Java reader, who is to live that long, on a hash that was to end then.
func recorded(life, ending, ttl time.Duration) State {
	return State{record: {Value: Deadlines{java: life, "ending": ending}, TTL: ttl}}
}

func TestAcquireRead(t *testing.T) {
	acquire := func(owner string, lease time.Duration) scripts.Command[scripts.Attempt] {
		return rwlock.AcquireRead(key, owner, lease, "")
	}
	Table(t, []Row{
		{Name: "A free lock is taken once",
			Before: free, Call: Answers(acquire(a, lease), mine),
			After: lock("read", lease, Hash{a: "1"}, marked(a, lease), State{list: {Value: Scores{a: 0}, TTL: lease}})},
		{Name: "A second reader with a short lease shortens nobody's protection",
			Before: lock("read", lease, Hash{a: "1"}, marked(a, lease)), Call: Answers(acquire(b, short), mine),
			After: lock("read", lease, Hash{a: "1", b: "1"}, marked(a, lease), marked(b, short), listed(b, short))},
		{Name: "A second reader with a long lease lengthens the lock and nobody's marker",
			Before: lock("read", short, Hash{a: "1"}, marked(a, short)), Call: Answers(acquire(b, lease), mine),
			After: lock("read", lease, Hash{a: "1", b: "1"}, marked(a, short), marked(b, lease), listed(b, lease))},
		{Name: "A repetition leaves everything alone",
			Before: lock("read", long, Hash{a: "3"}, marked(a, long, long, long)), Call: Answers(acquire(a, lease), mine)},
		{Name: "A writer keeps readers out",
			Before: lock("write", lease, Hash{bw: "1"}), Call: Answers(acquire(a, long), scripts.Attempt{Remaining: lease})},
		{Name: "A writer without TTL keeps readers out",
			Before: lock("write", 0, Hash{bw: "1"}), Call: Answers(acquire(a, long), scripts.Attempt{Remaining: forever})},
		{Name: "The writer may read too, and its lease is not shortened",
			Before: lock("write", long, Hash{aw: "2"}), Call: Answers(rwlock.AcquireRead(key, a, lease, aw), mine),
			After: lock("write", long, Hash{aw: "2", a: "1"}, marked(a, lease), listed(a, lease))},
		{Name: "The writer may read under another identity",
			Before: lock("write", short, Hash{aw: "1"}), Call: Answers(rwlock.AcquireRead(key, b, lease, aw), mine),
			After: lock("write", lease, Hash{aw: "1", b: "1"}, marked(b, lease), listed(b, lease))},
		{Name: "Within a write hold that is gone nothing is taken",
			Before: lock("read", lease, Hash{b: "1"}, marked(b, lease)),
			Call:   Answers(rwlock.AcquireRead(key, a, lease, aw), scripts.Attempt{Remaining: forever})},
		{Name: "Within a write hold that is gone a free lock is not taken",
			Before: free, Call: Answers(rwlock.AcquireRead(key, a, lease, aw), scripts.Attempt{Remaining: forever})},
		// What is left of an announcement is a deadline, which is not halved as TTLs are: hence Lengthens.
		{Name: "A writer that has announced itself keeps readers out of a free lock",
			Before: announced(short), Call: Answers(acquire(a, lease), scripts.Attempt{Remaining: short}).Lengthens()},
		{Name: "A writer that has announced itself keeps further readers out",
			Before: with(lock("read", lease, Hash{b: "1"}, marked(b, lease)), announced(short)),
			Call:   Answers(acquire(a, lease), scripts.Attempt{Remaining: short}).Lengthens()},
		{Name: "An announcement that is over keeps nobody out",
			Before: announced(-time.Second), Call: Answers(acquire(a, lease), mine),
			After: with(lock("read", lease, Hash{a: "1"}, marked(a, lease), listed(a, lease)), announced(-time.Second))},
		{Name: "An announcement does not keep the writer from reading",
			Before: with(lock("write", long, Hash{aw: "1"}), announced(short)),
			Call:   Answers(rwlock.AcquireRead(key, a, lease, aw), mine),
			After:  with(lock("write", long, Hash{aw: "1", a: "1"}, marked(a, lease), listed(a, lease)), announced(short))},
		{Name: "A plain lock of the same name is not taken",
			Before: plainly, Call: Fails(acquire(a, lease), "WRONGTYPE")},
		{Name: "A key that is no lock is refused",
			Before: other, Call: Fails(acquire(a, lease), "WRONGTYPE")},
	})
}

func TestRecountRead(t *testing.T) {
	Table(t, []Row{
		{Name: "Re-entry with a longer lease lengthens all markers",
			Before: lock("read", short, Hash{a: "1"}, marked(a, short)),
			Call:   Answers(rwlock.RecountRead(key, a, 2, 2, lease), true).Lengthens(),
			After:  lock("read", lease, Hash{a: "2"}, marked(a, lease, lease), listed(a, lease))},
		{Name: "Re-entry with a shorter lease has the longer promise too",
			Before: lock("read", lease, Hash{a: "1"}, marked(a, lease)),
			Call:   Answers(rwlock.RecountRead(key, a, 2, 2, short), true),
			After:  lock("read", lease, Hash{a: "2"}, marked(a, lease, lease), listed(a, lease))},
		{Name: "A partial release leaves the longest promise on the lowest markers",
			Before: lock("read", long, Hash{a: "3"}, marked(a, short, lease, long)),
			Call:   Answers(rwlock.RecountRead(key, a, 1, 3, time.Millisecond), true),
			After:  lock("read", long, Hash{a: "1"}, marked(a, long), listed(a, long))},
		{Name: "Markers above the count are deleted, whatever was on its way",
			Before: lock("read", long, Hash{a: "1"}, marked(a, long, long, lease)),
			Call:   Answers(rwlock.RecountRead(key, a, 1, 3, time.Millisecond), true),
			After:  lock("read", long, Hash{a: "1"}, marked(a, long), listed(a, long))},
		{Name: "A lock that a Java reader has shortened is as long as the promise again",
			Before: lock("read", short, Hash{a: "1", b: "1"}, marked(a, lease), marked(b, short)),
			Call:   Answers(rwlock.RecountRead(key, a, 1, 1, time.Millisecond), true).Lengthens(),
			After:  lock("read", lease, Hash{a: "1", b: "1"}, marked(a, lease), listed(a, lease), marked(b, short))},
		{Name: "Within a write hold the writer's lease is not shortened",
			Before: lock("write", long, Hash{aw: "1", a: "2"}, marked(a, lease, lease)),
			Call:   Answers(rwlock.RecountRead(key, a, 1, 2, time.Millisecond), true),
			After:  lock("write", long, Hash{aw: "1", a: "1"}, marked(a, lease), listed(a, lease))},
		{Name: "A partial release makes no promise where there is none",
			Before: lock("read", long, Hash{a: "2"}), Call: Answers(rwlock.RecountRead(key, a, 1, 2, 0), true),
			After: lock("read", long, Hash{a: "1"})},
		{Name: "nor does it end one without end",
			Before: with(lock("read", long, Hash{a: "2"}), State{"{rw}:" + a + ":rwlock_timeout:1": {Value: "1"}}),
			Call:   Answers(rwlock.RecountRead(key, a, 1, 2, 0), true),
			After:  with(lock("read", long, Hash{a: "1"}), State{"{rw}:" + a + ":rwlock_timeout:1": {Value: "1"}})},
		{Name: "A reader who is gone is not made anew, and its markers go",
			Before: lock("read", lease, Hash{b: "1"}, marked(b, lease), marked(a, short, short)),
			Call:   Answers(rwlock.RecountRead(key, a, 2, 2, lease), false),
			After:  lock("read", lease, Hash{b: "1"}, marked(b, lease))},
		{Name: "A free lock is not taken",
			Before: free, Call: Answers(rwlock.RecountRead(key, a, 1, 1, lease), false)},
		{Name: "A key that is no lock is refused",
			Before: other, Call: Fails(rwlock.RecountRead(key, a, 1, 1, lease), "WRONGTYPE")},
	})
}

func TestReleaseRead(t *testing.T) {
	release := func(most int) scripts.Command[bool] { return rwlock.ReleaseRead(key, a, most, wake) }
	Table(t, []Row{
		{Name: "The last reader frees the lock and wakes the waiters",
			Before: lock("read", lease, Hash{a: "1"}, marked(a, lease)), Call: AnswersThen(release(1), true, false),
			After: free, Messages: read0},
		{Name: "All holds of the reader end, with all markers that it ever had",
			Before: lock("read", lease, Hash{a: "2"}, marked(a, lease, lease, lease)), Call: AnswersThen(release(3), true, false),
			After: free, Messages: read0},
		{Name: "The lock lasts as long as the others were promised",
			Before: lock("read", long, Hash{a: "1", b: "2"}, marked(a, long), marked(b, short, lease)),
			Call:   AnswersThen(release(1), true, false),
			After:  lock("read", lease, Hash{b: "2"}, marked(b, short, lease))},
		{Name: "Nobody's protection is cut below what was promised",
			Before: lock("read", short, Hash{a: "1", b: "1"}, marked(a, short), marked(b, lease)),
			Call:   AnswersThen(release(1), true, false),
			After:  lock("read", lease, Hash{b: "1"}, marked(b, lease))},
		{Name: "A promise without end leaves the TTL alone",
			Before: with(lock("read", long, Hash{a: "1", b: "1"}, marked(a, long)),
				State{"{rw}:" + b + ":rwlock_timeout:1": {Value: "1"}}),
			Call:  AnswersThen(release(1), true, false),
			After: with(lock("read", long, Hash{b: "1"}), State{"{rw}:" + b + ":rwlock_timeout:1": {Value: "1"}})},
		{Name: "A dead reader does not keep the lock",
			Before: lock("read", long, Hash{a: "1", b: "2"}, marked(a, long)), Call: AnswersThen(release(1), true, false),
			After: free, Messages: read0},
		{Name: "A dead reader is dropped and the living keep the lock",
			Before: lock("read", long, Hash{a: "1", b: "2", u + ":3": "1"}, marked(a, long), marked(u+":3", lease)),
			Call:   AnswersThen(release(1), true, false),
			After:  lock("read", lease, Hash{u + ":3": "1"}, marked(u+":3", lease))},
		{Name: "In write mode nothing else is touched",
			Before: lock("write", long, Hash{aw: "1", a: "1"}, marked(a, short)), Call: AnswersThen(release(1), true, false),
			After: lock("write", long, Hash{aw: "1"})},
		{Name: "Another's lock is left alone, and markers that stayed behind go",
			Before: lock("read", lease, Hash{b: "1"}, marked(b, lease), marked(a, short)), Call: Answers(release(1), false),
			After: lock("read", lease, Hash{b: "1"}, marked(b, lease))},
		{Name: "A free lock stays free, and nobody is woken", Before: free, Call: Answers(release(1), false)},
		{Name: "A key that is no lock is refused", Before: other, Call: Fails(release(1), "WRONGTYPE")},
	})
}

func TestRenewRead(t *testing.T) {
	renew := func(most int, lease time.Duration) scripts.Command[[]bool] {
		return renewRead([]rwlock.Renewal{{Key: key, Owner: a, Most: most, Lease: lease}})
	}
	yes, no := []bool{true}, []bool{false}
	Table(t, []Row{
		{Name: "Markers and lock are lengthened, others' markers are not",
			Before: lock("read", short, Hash{a: "2", b: "1"}, marked(a, short, short), marked(b, short)),
			Call:   Answers(renew(2, lease), yes).Lengthens(),
			After:  lock("read", lease, Hash{a: "2", b: "1"}, marked(a, lease, lease), listed(a, lease), marked(b, short))},
		{Name: "Nothing is shortened",
			Before: lock("read", long, Hash{a: "1"}, marked(a, long)), Call: Answers(renew(1, short), yes),
			After: lock("read", long, Hash{a: "1"}, marked(a, long), listed(a, long))},
		{Name: "A promise longer than the renewal is asserted on the lock",
			Before: lock("read", lease, Hash{a: "1"}, marked(a, long)), Call: Answers(renew(1, lease), yes).Lengthens(),
			After: lock("read", long, Hash{a: "1"}, marked(a, long), listed(a, long))},
		{Name: "A check asserts the promise that there is",
			Before: lock("read", lease, Hash{a: "1", b: "1"}, marked(a, long), marked(b, lease)),
			Call:   Answers(renew(1, 0), yes).Lengthens(),
			After:  lock("read", long, Hash{a: "1", b: "1"}, marked(a, long), listed(a, long), marked(b, lease))},
		{Name: "A check of a reader whose promise is over changes nothing",
			Before: lock("read", lease, Hash{a: "1"}), Call: Answers(renew(1, 0), yes)},
		{Name: "A marker that is missing is made anew",
			Before: lock("read", long, Hash{a: "2"}, marked(a, short)), Call: Answers(renew(2, lease), yes).Lengthens(),
			After: lock("read", long, Hash{a: "2"}, marked(a, lease, lease), listed(a, lease))},
		{Name: "No more markers are made than there are holds now",
			Before: lock("read", short, Hash{a: "1"}, marked(a, short)), Call: Answers(renew(3, lease), yes).Lengthens(),
			After: lock("read", lease, Hash{a: "1"}, marked(a, lease), listed(a, lease))},
		{Name: "In write mode the writer's longer lease stays",
			Before: lock("write", long, Hash{aw: "1", a: "1"}, marked(a, short)), Call: Answers(renew(1, lease), yes).Lengthens(),
			After: lock("write", long, Hash{aw: "1", a: "1"}, marked(a, lease), listed(a, lease))},
		{Name: "A reader who is gone is not made anew, and its markers go",
			Before: lock("read", lease, Hash{b: "1"}, marked(b, lease), marked(a, short)), Call: Answers(renew(1, lease), no),
			After: lock("read", lease, Hash{b: "1"}, marked(b, lease))},
		{Name: "A free lock stays free", Before: free, Call: Answers(renew(1, lease), no)},
		{Name: "A key that is no lock is lost", Before: other, Call: Answers(renew(1, lease), no)},
		{Name: "Each reader is answered for by itself",
			Before: State{
				"{rw}x": {Value: Hash{"mode": "read", a: "1"}, TTL: short}, "{rw}x:" + a + ":rwlock_timeout:1": {Value: "1", TTL: short},
				"{rw}y": {Value: "7"},
				"{rw}z": {Value: Hash{"mode": "read", b: "1"}, TTL: short}, "{rw}z:" + b + ":rwlock_timeout:1": {Value: "1", TTL: short},
			},
			Call: Answers(renewRead([]rwlock.Renewal{
				{Key: "{rw}none", Owner: a, Most: 2, Lease: lease},
				{Key: "{rw}x", Owner: a, Most: 2, Lease: lease},
				{Key: "{rw}y", Owner: a, Most: 1, Lease: lease},
				{Key: "{rw}z", Owner: b, Most: 1, Lease: lease},
			}), []bool{false, true, false, true}).Lengthens(),
			After: State{
				"redlatch_rwlock_readers::{rw}x": listed(a, lease)[list], "redlatch_rwlock_readers::{rw}z": listed(b, lease)[list],
				"{rw}x": {Value: Hash{"mode": "read", a: "1"}, TTL: lease}, "{rw}x:" + a + ":rwlock_timeout:1": {Value: "1", TTL: lease},
				"{rw}y": {Value: "7"},
				"{rw}z": {Value: Hash{"mode": "read", b: "1"}, TTL: lease}, "{rw}z:" + b + ":rwlock_timeout:1": {Value: "1", TTL: lease},
			}},
	})
}

// A renewal that may not look must not say that a reader is gone.
func TestRenewalWithoutPermissionIsAnErrorAndNotALoss(t *testing.T) {
	server := redistest.Process(t)
	admin, client := server.Client(t), server.User(t, "-hget")
	require.NoError(t, admin.HSet(t.Context(), key, "mode", "read", a, "1").Err())
	alive, err := Send(t.Context(), client, renewRead([]rwlock.Renewal{{Key: key, Owner: a, Most: 1, Lease: lease}}))
	var refusal redis.Error // the server's own words differ from version to version
	require.ErrorAs(t, err, &refusal, "answered %v", alive)
}

func TestForce(t *testing.T) {
	readers := lock("read", long, Hash{a: "2", b: "1"}, marked(a, lease, lease), marked(b, lease))
	writer := lock("write", long, Hash{aw: "2", a: "1"}, marked(a, lease))
	Table(t, []Row{
		{Name: "All readers lose it, with their markers",
			Before: readers, Call: AnswersThen(rwlock.Force(key, rwlock.Read, wake), true, false), After: free, Messages: read0},
		{Name: "The writer loses it, with its reads",
			Before: writer, Call: AnswersThen(rwlock.Force(key, rwlock.Write, wake), true, false), After: free, Messages: write1},
		{Name: "The write side leaves readers alone", Before: readers, Call: Answers(rwlock.Force(key, rwlock.Write, wake), false)},
		{Name: "The read side leaves a writer alone", Before: writer, Call: Answers(rwlock.Force(key, rwlock.Read, wake), false)},
		{Name: "A free lock wakes nobody", Before: free, Call: Answers(rwlock.Force(key, rwlock.Write, wake), false)},
		{Name: "A plain lock is left alone", Before: plainly, Call: Answers(rwlock.Force(key, rwlock.Write, wake), false)},
		{Name: "A key that is no lock is not deleted", Before: other, Call: Fails(rwlock.Force(key, rwlock.Read, wake), "WRONGTYPE")},
	})
}

func TestStatus(t *testing.T) {
	writing := lock("write", long, Hash{aw: "2"})
	both := lock("write", long, Hash{aw: "2", a: "3"}, marked(a, lease, lease, lease))
	reading := lock("read", long, Hash{a: "3", b: "1"}, marked(a, lease, lease, lease))
	held := func(holds int64) scripts.Status { return scripts.Status{Exists: true, TTL: long, Holds: holds} }
	of := rwlock.Status
	Table(t, []Row{
		{Name: "A writer is no reader", Before: writing, Call: Answers(of(key, a, rwlock.Read), scripts.Status{})},
		{Name: "A writer is a writer", Before: writing, Call: Answers(of(key, aw, rwlock.Write), held(2))},
		{Name: "A writer that reads is a reader", Before: both, Call: Answers(of(key, a, rwlock.Read), held(3))},
		{Name: "A writer that reads is a writer", Before: both, Call: Answers(of(key, aw, rwlock.Write), held(2))},
		{Name: "A reader is a reader", Before: reading, Call: Answers(of(key, a, rwlock.Read), held(3))},
		{Name: "A reader is no writer", Before: reading, Call: Answers(of(key, aw, rwlock.Write), scripts.Status{})},
		{Name: "A stranger has no holds", Before: reading, Call: Answers(of(key, u+":7", rwlock.Read), held(0))},
		{Name: "Dead readers hold nothing", Before: lock("read", long, Hash{a: "1"}), Call: Answers(of(key, a, rwlock.Read), scripts.Status{})},
		{Name: "A free lock is not held", Before: free, Call: Answers(of(key, a, rwlock.Read), scripts.Status{})},
		{Name: "A plain lock is not this one", Before: plainly, Call: Answers(of(key, aw, rwlock.Write), scripts.Status{})},
		{Name: "A key that is no lock is refused", Before: other, Call: Fails(of(key, a, rwlock.Read), "WRONGTYPE")},
	})
}

func TestInspect(t *testing.T) {
	state := func(ttl time.Duration, fields map[string]string, ttls map[string]time.Duration) scripts.State {
		return scripts.State{Exists: true, TTL: ttl, Fields: fields, TTLs: ttls}
	}
	type fields = map[string]string
	type ttls = map[string]time.Duration
	Table(t, []Row{
		{Name: "Each reader has the TTL of its longest marker", Before: lock("read", long, Hash{a: "2", b: "1"}, marked(a, short, lease), marked(b, long)),
			Call: Answers(rwlock.Inspect(key), state(long, fields{"mode": "read", a: "2", b: "1"}, ttls{a: lease, b: long}))},
		{Name: "A marker without a TTL has no end", Before: lock("read", lease, Hash{a: "2"}, marked(a, short), State{"{rw}:" + a + ":rwlock_timeout:2": {Value: "1"}}),
			Call: Answers(rwlock.Inspect(key), state(lease, fields{"mode": "read", a: "2"}, ttls{a: forever}))},
		{Name: "A writer has none, nor has a dead reader", Before: lock("write", lease, Hash{aw: "2", b: "1"}),
			Call: Answers(rwlock.Inspect(key), state(lease, fields{"mode": "write", aw: "2", b: "1"}, ttls{}))},
		{Name: "A free lock", Before: free, Call: Answers(rwlock.Inspect(key), scripts.State{Fields: fields{}, TTLs: ttls{}})},
		{Name: "A key that is no lock is refused", Before: other, Call: Fails(rwlock.Inspect(key), "WRONGTYPE")},
	})
}

// The golden states of the read-write lock, as Redisson leaves them. Where ours differ on purpose the row says so.
func TestGoldenStates(t *testing.T) {
	require.Equal(t, channel, keys.ReadWriteChannel(key))
	require.Equal(t, "{rw}:"+a+":rwlock_timeout:2", keys.ReadMarker(keys.Tag(key), a, 2))
	both := State{list: {Value: Deadlines{a: long, b: short}, TTL: long}}
	Sequence(t, []Row{
		{Name: "read by 1, 30 s", Before: free, Call: Answers(rwlock.AcquireRead(key, a, lease, ""), mine),
			After: lock("read", lease, Hash{a: "1"}, marked(a, lease), State{list: {Value: Scores{a: 0}, TTL: lease}})},
		{Name: "read by 1 again, 60 s; ours lengthens both markers", Call: Answers(rwlock.RecountRead(key, a, 2, 2, long), true),
			After: lock("read", long, Hash{a: "2"}, marked(a, long, long), listed(a, long))},
		{Name: "read by 2, 5 s", Call: Answers(rwlock.AcquireRead(key, b, short, ""), mine),
			After: lock("read", long, Hash{a: "2", b: "1"}, marked(a, long, long), marked(b, short), both)},
		{Name: "write by 1", Call: Answers(rwlock.AcquireWrite(key, aw, lease, quiet), scripts.Attempt{Remaining: long})},
		{Name: "unlock by 1; ours keeps the longer promise", Call: Answers(rwlock.RecountRead(key, a, 1, 2, time.Millisecond), true),
			After: lock("read", long, Hash{a: "1", b: "1"}, marked(a, long), marked(b, short), both)},
		{Name: "unlock by 1 again", Call: AnswersThen(rwlock.ReleaseRead(key, a, 2, wake), true, false),
			After: lock("read", short, Hash{b: "1"}, marked(b, short), State{list: {Value: Deadlines{b: short}, TTL: long}})},
		{Name: "unlock by 2", Call: AnswersThen(rwlock.ReleaseRead(key, b, 1, wake), true, false), After: free, Messages: read0},
		{Name: "unlock by 2 again; ours wakes nobody", Call: Answers(rwlock.ReleaseRead(key, b, 1, wake), false)},
		{Name: "write by 1, 30 s", Call: Answers(rwlock.AcquireWrite(key, aw, lease, quiet), mine),
			After: lock("write", lease, Hash{aw: "1"})},
		{Name: "write by 1 twice more; ours adds no lease to the lease", Call: Answers(plain.Recount(key, aw, 3, lease), true),
			After: lock("write", lease, Hash{aw: "3"})},
		{Name: "read by 1", Call: Answers(rwlock.AcquireRead(key, a, lease, aw), mine),
			After: lock("write", lease, Hash{aw: "3", a: "1"}, marked(a, lease), listed(a, lease))},
		{Name: "read by 2", Call: Answers(rwlock.AcquireRead(key, b, lease, ""), scripts.Attempt{Remaining: lease})},
		{Name: "write unlock twice", Call: Answers(plain.Recount(key, aw, 1, time.Millisecond), true),
			After: lock("write", lease, Hash{aw: "1", a: "1"}, marked(a, lease), listed(a, lease))},
		{Name: "write unlock; ours wakes the readers", Call: AnswersThen(rwlock.ReleaseWrite(key, aw, wake), true, false),
			After: lock("read", lease, Hash{a: "1"}, marked(a, lease), listed(a, lease)), Messages: write1},
	})
}

// renewRead is RenewRead without a look at notices.
func renewRead(renewals []rwlock.Renewal) scripts.Command[[]bool] {
	return Alive(rwlock.RenewRead(renewals))
}
