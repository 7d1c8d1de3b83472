package rwlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestAcquireWrite(t *testing.T) {
	acquire := func(field string, lease time.Duration) scripts.Command[scripts.Attempt] {
		return rwlock.AcquireWrite(key, field, lease, quiet)
	}
	Table(t, []Row{
		{Name: "A free lock is taken once",
			Before: free, Call: Answers(acquire(aw, lease), mine), After: lock("write", lease, Hash{aw: "1"})},
		{Name: "A repetition leaves everything alone",
			Before: lock("write", long, Hash{aw: "2", a: "1"}, marked(a, long)), Call: Answers(acquire(aw, lease), mine)},
		{Name: "Another writer keeps it",
			Before: lock("write", lease, Hash{aw: "1"}), Call: Answers(acquire(bw, long), scripts.Attempt{Remaining: lease})},
		{Name: "A reader keeps it, also from itself",
			Before: lock("read", lease, Hash{a: "1"}, marked(a, lease)),
			Call:   Answers(acquire(aw, long), scripts.Attempt{Remaining: lease})},
		{Name: "Readers keep it as long as the longest promise, whatever the TTL of the lock",
			Before: lock("read", long, Hash{a: "2", b: "1"}, marked(a, short, lease), marked(b, short)),
			Call:   Answers(acquire(bw, long), scripts.Attempt{Remaining: lease})},
		{Name: "A reader with one live marker of several is alive",
			Before: lock("read", long, Hash{a: "3"}, marked(a, 0, lease, 0)),
			Call:   Answers(acquire(bw, long), scripts.Attempt{Remaining: lease})},
		{Name: "A promise without end keeps it",
			Before: with(lock("read", long, Hash{a: "1", b: "1"}, marked(a, lease)),
				State{"{rw}:" + b + ":rwlock_timeout:1": {Value: "1"}}),
			Call: Answers(acquire(bw, long), scripts.Attempt{Remaining: forever})},
		{Name: "A promise without end is the longest, whichever is looked at first",
			Before: with(lock("read", long, Hash{a: "2"}, marked(a, lease)), State{"{rw}:" + a + ":rwlock_timeout:2": {Value: "1"}}),
			Call:   Answers(acquire(bw, long), scripts.Attempt{Remaining: forever})},
		{Name: "Dead readers do not keep it",
			Before: lock("read", long, Hash{a: "1", b: "2"}), Call: Answers(acquire(u+":3:write", lease), mine),
			After: lock("write", lease, Hash{u + ":3:write": "1"})},
		{Name: "Dead readers are dropped and the living keep it",
			Before: lock("read", long, Hash{a: "1", b: "1"}, marked(b, lease)),
			Call:   Answers(acquire(u+":3:write", lease), scripts.Attempt{Remaining: lease}),
			After:  lock("read", long, Hash{b: "1"}, marked(b, lease))},
		{Name: "A writer that waits announces itself to readers",
			Before: lock("read", lease, Hash{a: "1"}, marked(a, lease)),
			Call:   Answers(rwlock.AcquireWrite(key, bw, lease, loud), scripts.Attempt{Remaining: lease}).Lengthens(),
			After:  with(lock("read", lease, Hash{a: "1"}, marked(a, lease)), announced(loud.For))},
		{Name: "A writer that does not announce itself leaves the others' announcements alone",
			Before: with(lock("read", lease, Hash{a: "1"}, marked(a, lease)), announced(short)),
			Call:   Answers(acquire(bw, lease), scripts.Attempt{Remaining: lease}).Lengthens()},
		{Name: "nor does one that announces itself for a shorter time let them end sooner",
			Before: with(lock("read", lease, Hash{a: "1"}, marked(a, lease)), announced(short)),
			Call: Answers(rwlock.AcquireWrite(key, bw, lease, rwlock.Announcement{Session: "somebody", For: time.Second}),
				scripts.Attempt{Remaining: lease}).Lengthens(),
			After: with(lock("read", lease, Hash{a: "1"}, marked(a, lease)),
				State{writers: {Value: Deadlines{u: short, "somebody": time.Second}, TTL: loud.For}})},
		{Name: "A writer that has the lock does not announce itself any more",
			Before: announced(short), Call: Answers(rwlock.AcquireWrite(key, bw, lease, loud), mine),
			After: lock("write", lease, Hash{bw: "1"})},
		{Name: "A plain lock of the same name is not taken", Before: plainly, Call: Fails(acquire(aw, lease), "WRONGTYPE")},
		{Name: "A key that is no lock is refused", Before: other, Call: Fails(acquire(aw, lease), "WRONGTYPE")},
	})
}

func TestReleaseWrite(t *testing.T) {
	release := rwlock.ReleaseWrite(key, aw, wake)
	Table(t, []Row{
		{Name: "The writer frees the lock and wakes the waiters",
			Before: lock("write", lease, Hash{aw: "3"}), Call: AnswersThen(release, true, false), After: free, Messages: write1},
		{Name: "A writer that reads goes on reading, for as long as it was promised, and readers are woken",
			Before: lock("write", long, Hash{aw: "1", a: "2"}, marked(a, lease, short)), Call: AnswersThen(release, true, false),
			After: lock("read", lease, Hash{a: "2"}, marked(a, lease, short)), Messages: write1},
		{Name: "A read hold that is over does not make it a downgrade",
			Before: lock("write", long, Hash{aw: "1", a: "1"}), Call: AnswersThen(release, true, false), After: free, Messages: write1},
		{Name: "Of two read holds within it the dead one is dropped",
			Before: lock("write", long, Hash{aw: "1", a: "1", b: "1"}, marked(a, lease)), Call: AnswersThen(release, true, false),
			After: lock("read", lease, Hash{a: "1"}, marked(a, lease)), Messages: write1},
		{Name: "A writer that was promised to read without end does",
			Before: with(lock("write", long, Hash{aw: "1", a: "1"}), State{"{rw}:" + a + ":rwlock_timeout:1": {Value: "1"}}),
			Call:   AnswersThen(release, true, false),
			After:  with(lock("read", long, Hash{a: "1"}), State{"{rw}:" + a + ":rwlock_timeout:1": {Value: "1"}}), Messages: write1},
		{Name: "Another writer's lock is left alone",
			Before: lock("write", lease, Hash{bw: "1"}), Call: Answers(release, false)},
		{Name: "A downgraded lock is left alone",
			Before: lock("read", lease, Hash{a: "1"}, marked(a, lease)), Call: Answers(release, false)},
		{Name: "A free lock stays free, and nobody is woken", Before: free, Call: Answers(release, false)},
		{Name: "A key that is no lock is refused", Before: other, Call: Fails(release, "WRONGTYPE")},
	})
}

func TestWithdraw(t *testing.T) {
	Table(t, []Row{
		{Name: "An announcement is taken back, and readers are woken",
			Before: announced(short), Call: AnswersThen(rwlock.Withdraw(key, u, wake), true, false), After: free, Messages: write1},
		{Name: "Another session's stays",
			Before: announced(short), Call: Answers(rwlock.Withdraw(key, "somebody", wake), false)},
	})
}

// Without PEXPIRE a set of announcements would never end, and bar readers for as long.
func TestAWriterThatMayNotExpireAnnouncesNothing(t *testing.T) {
	srv := redistest.Process(t)
	admin, user := srv.Client(t), srv.User(t, "-pexpire")
	require.NoError(t, admin.HSet(t.Context(), key, "mode", "write", aw, 1).Err())
	require.NoError(t, admin.PExpire(t.Context(), key, lease).Err())
	before := admin.Keys(t.Context(), "*").Val()
	_, err := Send(t.Context(), user, rwlock.AcquireWrite(key, bw, lease, loud))
	require.ErrorContains(t, err, "nothing was changed")
	require.ElementsMatch(t, before, admin.Keys(t.Context(), "*").Val())
}
