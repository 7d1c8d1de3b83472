package rwlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// The list of our readers says how long the lock lasts where it names all that read, and nothing anywhere else.
func TestTheListOfOurReaders(t *testing.T) {
	const gone, c = u + ":8", u + ":9"
	release := rwlock.ReleaseRead(key, a, 1, wake)
	read := rwlock.AcquireRead(key, a, short, "")
	write := rwlock.AcquireWrite(key, bw, lease, quiet)
	refused := func(left time.Duration) scripts.Attempt { return scripts.Attempt{Remaining: left} }
	members := func(ttl time.Duration, of Deadlines) State { return State{list: {Value: of, TTL: ttl}} }
	Table(t, []Row{
		{Name: "A reader that leaves is taken out, and the lock lasts as long as the highest",
			Before: lock("read", long, Hash{a: "1", b: "1", c: "1"}, marked(a, long), marked(b, lease), marked(c, short),
				members(long, Deadlines{a: long, b: lease, c: short})),
			Call: AnswersThen(release, true, false).Lengthens(),
			After: lock("read", lease, Hash{b: "1", c: "1"}, marked(b, lease), marked(c, short),
				members(long, Deadlines{b: lease, c: short}))},
		{Name: "The first reader, which is listed without a moment, is asked for it at its marker",
			Before: lock("read", long, Hash{a: "1", b: "1"}, marked(a, long), marked(b, lease),
				State{list: {Value: Deadlines{a: long, b: -time.Hour}, TTL: long}}),
			Call:  AnswersThen(release, true, false).Lengthens(),
			After: lock("read", lease, Hash{b: "1"}, marked(b, lease), members(long, Deadlines{b: lease}))},
		{Name: "The first reader, alone, lasts as long as the list",
			Before: lock("read", long, Hash{b: "1"}, marked(b, lease), State{list: {Value: Scores{b: 0}, TTL: lease}}),
			Call:   Answers(write, refused(lease)).Lengthens(),
			After:  lock("read", long, Hash{b: "1"}, marked(b, lease), members(lease, Deadlines{b: lease}))},
		{Name: "The second reader enters the moment of the first",
			Before: lock("read", lease, Hash{b: "1"}, marked(b, lease), State{list: {Value: Scores{b: 0}, TTL: lease}}),
			Call:   Answers(rwlock.AcquireRead(key, a, long, ""), mine).Lengthens(),
			After:  lock("read", long, Hash{a: "1", b: "1"}, marked(a, long), marked(b, lease), members(long, Deadlines{a: long, b: lease}))},
		{Name: "A first reader that is gone with its hash is none of the next",
			Before: lock("read", long, Hash{java: "1"}, marked(java, short), State{list: {Value: Scores{b: 0}, TTL: lease}}),
			Call:   Answers(write, refused(short)).Lengthens(),
			After:  lock("read", long, Hash{java: "1"}, marked(java, short))},
		{Name: "A writer is refused for as long as the highest lasts",
			Before: lock("read", long, Hash{a: "1", b: "1"}, marked(a, short), marked(b, lease), members(long, Deadlines{a: short, b: lease})),
			Call:   Answers(write, refused(lease)).Lengthens()},
		{Name: "Also where a marker was shortened by a Java reader's renewal",
			Before: lock("read", long, Hash{a: "1"}, marked(a, short), listed(a, long)), Call: Answers(write, refused(long)).Lengthens()},
		{Name: "A listed reader that is over is believed alive if its marker is",
			Before: lock("read", long, Hash{a: "1"}, marked(a, lease), members(long, Deadlines{a: -time.Second})),
			Call:   Answers(write, refused(lease)).Lengthens(),
			After:  lock("read", long, Hash{a: "1"}, marked(a, lease), members(long, Deadlines{a: lease}))},
		{Name: "One that is dead is dropped beside the living",
			Before: lock("read", long, Hash{a: "1", b: "1"}, marked(b, lease), members(long, Deadlines{a: -time.Second, b: lease})),
			Call:   Answers(write, refused(lease)).Lengthens(),
			After:  lock("read", long, Hash{b: "1"}, marked(b, lease), members(long, Deadlines{b: lease}))},
		{Name: "One whose promise has no end is found by looking at all",
			Before: with(lock("read", long, Hash{a: "1"}, members(long, Deadlines{a: -time.Second})), State{"{rw}:" + a + ":rwlock_timeout:1": {Value: "1"}}),
			Call:   Answers(write, refused(forever))},
		{Name: "A writer comes in after the dead, however many",
			Before: with(lock("read", long, crowdOf(40)), members(long, deadlines(40, -time.Second))), Call: Answers(write, mine),
			After: lock("write", lease, Hash{bw: "1"})},

		// What Redisson, an older version of ours, or somebody with a client at hand leaves behind.
		{Name: "As many names as readers beside a live Java reader, whose time is not cut",
			Before: lock("read", long, Hash{a: "1", java: "1"}, marked(a, short), marked(java, long), members(long, Deadlines{a: short, gone: lease})),
			Call:   AnswersThen(release, true, false).Lengthens(),
			After:  lock("read", long, Hash{java: "1"}, marked(java, long))},
		{Name: "and which no writer of ours joins",
			Before: lock("read", long, Hash{java: "1"}, marked(java, long), members(long, Deadlines{gone: lease})),
			Call:   Answers(write, refused(long)).Lengthens(),
			After:  lock("read", long, Hash{java: "1"}, marked(java, long))},
		{Name: "The list of a lock that was deleted is none of the next, which a Java reader has",
			Before: lock("read", long, Hash{java: "1"}, marked(java, long), members(long, Deadlines{gone: long})),
			Call:   Answers(read, mine).Lengthens(),
			After:  lock("read", long, Hash{a: "1", java: "1"}, marked(a, short), marked(java, long), listed(a, short))},
		{Name: "nor which is free and taken for reading",
			Before: members(long, Deadlines{gone: long}), Call: Answers(read, mine).Lengthens(),
			After: lock("read", short, Hash{a: "1"}, marked(a, short), listed(a, short))},
		{Name: "nor for writing",
			Before: with(members(long, Deadlines{gone: long}), recorded(lease, lease, grace)), Call: Answers(write, mine),
			After: lock("write", lease, Hash{bw: "1"})},
		{Name: "Without a list all are looked at",
			Before: lock("read", long, Hash{a: "1", b: "1"}, marked(a, long), marked(b, lease)), Call: AnswersThen(release, true, false),
			After: lock("read", lease, Hash{b: "1"}, marked(b, lease))},
		{Name: "A reader of an older version is in no list, and keeps its time",
			Before: lock("read", long, Hash{a: "1", b: "1", c: "1"}, marked(a, long), marked(b, lease), marked(c, short),
				members(long, Deadlines{a: long, c: short})),
			Call:  AnswersThen(release, true, false).Lengthens(),
			After: lock("read", lease, Hash{b: "1", c: "1"}, marked(b, lease), marked(c, short), members(long, Deadlines{c: short}))},
		{Name: "and keeps a writer out after ours are dead",
			Before: lock("read", long, Hash{b: "1", c: "1"}, marked(b, lease), members(long, Deadlines{c: -time.Second})),
			Call:   Answers(write, refused(lease)),
			After:  lock("read", long, Hash{b: "1"}, marked(b, lease))},
		{Name: "A Java reader without marker beside ours counts as long as the hash lasts",
			Before: lock("read", lease, Hash{a: "1", b: "1", java: "1"}, marked(a, short), marked(b, short), members(lease, Deadlines{a: short, b: short})),
			Call:   AnswersThen(release, true, false).Lengthens(),
			After: with(lock("read", lease, Hash{b: "1", java: "1"}, marked(b, short), members(lease, Deadlines{b: short})),
				recorded(lease, lease, grace))},

		{Name: "A reader that is gone is not listed by its renewal",
			Before: lock("read", lease, Hash{b: "1"}, marked(b, lease), members(lease, Deadlines{a: lease, b: lease})),
			Call:   Answers(renewRead([]rwlock.Renewal{{Key: key, Owner: a, Most: 1, Lease: long}}), []bool{false}).Lengthens(),
			After:  lock("read", lease, Hash{b: "1"}, marked(b, lease), members(lease, Deadlines{b: lease}))},
		{Name: "nor by its re-entry",
			Before: members(lease, Deadlines{a: lease}), Call: Answers(rwlock.RecountRead(key, a, 2, 2, long), false), After: free},
		{Name: "nor by its release, executed late",
			Before: members(lease, Deadlines{a: lease}), Call: Answers(release, false), After: free},
		{Name: "A writer that reads leaves a list that holds",
			Before: lock("write", long, Hash{aw: "1", a: "1"}, marked(a, lease), members(long, Deadlines{a: lease})),
			Call:   AnswersThen(rwlock.ReleaseWrite(key, aw, wake), true, false).Lengthens(),
			After:  lock("read", lease, Hash{a: "1"}, marked(a, lease), members(long, Deadlines{a: lease})), Messages: write1},
		{Name: "Force takes the list along",
			Before: lock("read", long, Hash{a: "1"}, marked(a, lease), members(long, Deadlines{a: lease})),
			Call:   AnswersThen(rwlock.Force(key, rwlock.Read, wake), true, false), After: free, Messages: read0},
	})
}

// A script that has to look at markers of others asks for them first, and has changed nothing then.
func TestAScriptThatAsksForMarkersHasChangedNothing(t *testing.T) {
	client := redistest.Watched(t).Client(t)
	stranger := "a b%\n:" + java
	read := func() { // a stranger reads
		ctx := t.Context()
		require.NoError(t, client.FlushAll(ctx).Err())
		require.NoError(t, client.HSet(ctx, key, "mode", "read", a, "1", stranger, "2").Err())
		require.NoError(t, client.Set(ctx, "{rw}:"+stranger+":rwlock_timeout:2", "1", time.Minute).Err())
	}
	for name, c := range map[string]interface {
		Cmder(ctx context.Context, withSource bool) redis.Cmder
	}{
		"acquire write": rwlock.AcquireWrite(key, bw, lease, quiet), "release read": rwlock.ReleaseRead(key, a, 1, wake),
		"turn write": rwlock.TurnWrite(key, a, 1, wake, bw, lease), "release write": rwlock.ReleaseWrite(key, aw, wake),
		"status": rwlock.Status(key, a, rwlock.Read), "force": rwlock.Force(key, rwlock.Read, wake), "inspect": rwlock.Inspect(key),
	} {
		ctx := t.Context()
		read()
		if name == "release write" {
			require.NoError(t, client.HSet(ctx, key, "mode", "write", aw, "1").Err())
		}
		before, err := client.HGetAll(ctx, key).Result()
		require.NoError(t, err)
		require.ErrorContains(t, client.Process(ctx, c.Cmder(ctx, true)), "REDLATCH-KEYS", name)
		after, err := client.HGetAll(ctx, key).Result()
		require.NoError(t, err)
		require.Equal(t, before, after, name)
		require.EqualValues(t, 2, client.DBSize(ctx).Val(), name)
	}
	read()
	attempt, err := Send(t.Context(), client, rwlock.AcquireWrite(key, bw, lease, quiet))
	require.NoError(t, err)
	require.Greater(t, attempt.Remaining, lease, "it was given the marker of the stranger")
}

// crowdOf are the fields of many readers, deadlines their places in the list.
func crowdOf(n int) Hash {
	fields := Hash{}
	for i := range n {
		fields[fmt.Sprint(u, ":", 100+i)] = "1"
	}
	return fields
}

func deadlines(n int, later time.Duration) Deadlines {
	members := Deadlines{}
	for owner := range crowdOf(n) {
		members[owner] = later
	}
	return members
}
