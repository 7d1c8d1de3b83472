package rwlock_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

const grace = 30 * time.Second

// A reader of Redisson that has no marker may live: 3.44 to 3.52 renew the markers of one lock for each process.
func TestAJavaReaderWithoutMarker(t *testing.T) {
	write := rwlock.AcquireWrite(key, bw, lease, quiet)
	release := rwlock.ReleaseRead(key, a, 1, wake)
	read := rwlock.AcquireRead(key, a, lease, "")
	over := -time.Second
	alone := func(ttl time.Duration) State { return lock("read", ttl, Hash{java: "1"}) }
	Table(t, []Row{
		{Name: "keeps a writer out for as long as the hash lasts, and is recorded",
			Before: alone(short), Call: Answers(write, scripts.Attempt{Remaining: short}).Lengthens(),
			After: with(alone(short), recorded(short, short, grace))},
		{Name: "for 30 s at most, for the time of the hash may be ours",
			Before: alone(time.Hour), Call: Answers(write, scripts.Attempt{Remaining: grace}).Lengthens(),
			After: with(alone(time.Hour), recorded(grace, time.Hour, time.Hour))},
		{Name: "is dead when that is over and nobody else has touched the hash",
			Before: with(alone(short), recorded(over, short, grace)), Call: Answers(write, mine),
			After: lock("write", lease, Hash{bw: "1"})},
		{Name: "is alive when somebody else has",
			Before: with(alone(lease), recorded(over, short, grace)), Call: Answers(write, scripts.Attempt{Remaining: lease}).Lengthens(),
			After: with(alone(lease), recorded(lease, lease, grace))},
		{Name: "also when its watchdog timeout is short",
			Before: with(alone(short), recorded(over, lease, grace)), Call: Answers(write, scripts.Attempt{Remaining: short}).Lengthens(),
			After: with(alone(short), recorded(short, short, grace))},
		{Name: "and for longer than 30 s when its watchdog timeout is",
			Before: with(alone(long), recorded(short, short, grace)), Call: Answers(write, scripts.Attempt{Remaining: long}).Lengthens(),
			After: with(alone(long), recorded(long, long, long))},
		{Name: "counts beside one with a marker, whichever lasts longer",
			Before: lock("read", lease, Hash{a: "1", java: "1"}, marked(a, short)),
			Call:   Answers(write, scripts.Attempt{Remaining: lease}).Lengthens(),
			After:  with(lock("read", lease, Hash{a: "1", java: "1"}, marked(a, short)), recorded(lease, lease, grace))},
		{Name: "is dropped beside the living when it is dead",
			Before: with(lock("read", short, Hash{a: "1", java: "1"}, marked(a, short)), recorded(over, short, grace)),
			Call:   Answers(write, scripts.Attempt{Remaining: short}).Lengthens(),
			After:  with(lock("read", short, Hash{a: "1"}, marked(a, short)), State{record: {Value: Deadlines{"ending": short}, TTL: grace}})},
		{Name: "is nothing special while it has one",
			Before: lock("read", lease, Hash{java: "1"}, marked(java, lease)),
			Call:   Answers(write, scripts.Attempt{Remaining: lease})},

		{Name: "keeps the lock when our last reader leaves, and the waiters learn for how long",
			Before: lock("read", time.Hour, Hash{a: "1", java: "1"}, marked(a, time.Hour)), Call: AnswersThen(release, true, false).Lengthens(),
			After:    with(alone(grace), recorded(grace, grace, time.Hour)),
			Messages: read0},
		{Name: "keeps it for as long as it is known to live",
			Before:   with(lock("read", lease, Hash{a: "1", java: "1"}, marked(a, lease)), recorded(short, lease, grace)),
			Call:     AnswersThen(release, true, false).Lengthens(),
			After:    with(alone(short), recorded(short, short, grace)),
			Messages: read0},
		{Name: "does not keep it when it is dead",
			Before: with(lock("read", lease, Hash{a: "1", java: "1"}, marked(a, lease)), recorded(over, lease, grace)),
			Call:   AnswersThen(release, true, false).Lengthens(),
			After:  free, Messages: read0},
		{Name: "wakes nobody while others read",
			Before: lock("read", lease, Hash{a: "1", b: "1", java: "1"}, marked(a, lease), marked(b, lease)),
			Call:   AnswersThen(release, true, false).Lengthens(),
			After:  with(lock("read", lease, Hash{b: "1", java: "1"}, marked(b, lease)), recorded(lease, lease, grace))},

		{Name: "is remembered by a reader of ours that comes, and does not live longer by it",
			Before: with(alone(short), recorded(short, short, grace)), Call: Answers(read, mine).Lengthens(),
			After: with(lock("read", lease, Hash{java: "1", a: "1"}, marked(a, lease), listed(a, lease)), recorded(short, lease, grace))},
		{Name: "has its renewal recorded by a reader of ours that comes",
			Before: with(alone(10*time.Second), recorded(short, short, grace)), Call: Answers(read, mine).Lengthens(),
			After: with(lock("read", lease, Hash{java: "1", a: "1"}, marked(a, lease), listed(a, lease)), recorded(10*time.Second, lease, grace))},
		{Name: "has it recorded by a renewal of ours",
			Before: with(lock("read", short, Hash{java: "1", a: "1"}, marked(a, time.Second)), recorded(over, time.Second, grace)),
			Call:   Answers(renewRead([]rwlock.Renewal{{Key: key, Owner: a, Most: 1, Lease: lease}}), []bool{true}).Lengthens(),
			After:  with(lock("read", lease, Hash{java: "1", a: "1"}, marked(a, lease), listed(a, lease)), recorded(short, lease, grace))},
		{Name: "and by a re-entry",
			Before: with(lock("read", short, Hash{java: "1", a: "1"}, marked(a, time.Second)), recorded(over, time.Second, grace)),
			Call:   Answers(rwlock.RecountRead(key, a, 2, 2, lease), true).Lengthens(),
			After:  with(lock("read", lease, Hash{java: "1", a: "2"}, marked(a, lease, lease), listed(a, lease)), recorded(short, lease, grace))},

		{Name: "counts on a hash without end, as long as it is not known to be dead",
			Before: alone(0), Call: Answers(rwlock.Status(key, a, rwlock.Read), scripts.Status{Exists: true, TTL: forever})},
		{Name: "counts as a reader for those who ask",
			Before: alone(short), Call: Answers(rwlock.Status(key, a, rwlock.Read), scripts.Status{Exists: true, TTL: short})},
		{Name: "counts no more when it is dead",
			Before: with(alone(short), recorded(over, short, grace)),
			Call:   Answers(rwlock.Status(key, a, rwlock.Read), scripts.Status{}).Lengthens()},
		{Name: "counts when somebody has touched the hash",
			Before: with(alone(lease), recorded(over, short, grace)),
			Call:   Answers(rwlock.Status(key, a, rwlock.Read), scripts.Status{Exists: true, TTL: lease}).Lengthens()},
		{Name: "of a lock with a brace in its name has a record that is not that of the name within",
			Before: State{"{rw}": {Value: Hash{"mode": "read", java: "1"}, TTL: short}},
			Call:   Answers(rwlock.AcquireWrite("{rw}", bw, lease, quiet), scripts.Attempt{Remaining: short}).Lengthens(),
			After: State{"{rw}": {Value: Hash{"mode": "read", java: "1"}, TTL: short},
				"redlatch_rwlock_strangers::{rw}": {Value: Deadlines{java: short, "ending": short}, TTL: grace}}},
		{Name: "goes by force, with its record",
			Before: with(alone(short), recorded(short, short, grace)), Call: AnswersThen(rwlock.Force(key, rwlock.Read, wake), true, false),
			After: free, Messages: read0},
	})
}
