package fairlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestRelease(t *testing.T) {
	two := Deadlines{b: lease + patience, c: lease + 2*patience}
	alive := Deadlines{b: patience, c: patience}
	release := func(owner string) scripts.Command[bool] { return fairlock.Release(key, w(owner), wake) }
	Table(t, []Row{
		{Name: "The holder frees the lock; nobody waits",
			Before: state(a, nil, nil, nil), Call: AnswersThen(release(a), true, false), After: free},
		{Name: "All holds end, whatever their number",
			Before: State{key: {Value: Hash{a: "3"}, TTL: lease}}, Call: AnswersThen(release(a), true, false), After: free},
		{Name: "Who leaves changes nobody's deadline while all are ours",
			Before: state(a, List{e, b, c}, Deadlines{e: lease, b: lease + patience, c: lease + 2*patience}, Deadlines{b: patience, c: patience, e: patience}),
			Call:   Answers(release(b), false).Lengthens(),
			After:  state(a, List{e, c}, Deadlines{e: lease, c: lease + 2*patience}, Deadlines{c: patience, e: patience})},
		{Name: "With one of Redisson's among them, it gives those behind its patience back and nobody else",
			Before: state(a, List{e, b, c}, Deadlines{e: lease, b: lease + patience, c: lease + 2*patience}, Deadlines{b: patience, c: patience}),
			Call:   Answers(release(b), false).Lengthens(),
			After:  state(a, List{e, c}, Deadlines{e: lease, c: lease + patience}, Deadlines{c: patience})},
		{Name: "behind somebody without a deadline too",
			Before: state(a, List{e, b, c}, Deadlines{b: lease + patience, c: lease + 2*patience}, Deadlines{b: patience, e: patience}),
			Call:   Answers(release(b), false).Lengthens(),
			After:  state(a, List{e, c}, Deadlines{c: lease + patience}, Deadlines{e: patience})},
		{Name: "but no more than it had added, which is nothing when it came before Redisson's did",
			Before: state(a, List{e, b, c}, Deadlines{e: fresh, b: fresh, c: fresh + redisson}, Deadlines{b: patience, e: patience}),
			Call:   Answers(release(b), false).Lengthens(),
			After:  state(a, List{e, c}, Deadlines{e: fresh, c: fresh + redisson}, Deadlines{e: patience})},
		{Name: "Who is in no queue takes nothing from anybody",
			Before: state(a, List{b, c}, two, alive), Call: Answers(release(d), false).Lengthens()},
		{Name: "Who leaves does not create deadlines for those behind who have none",
			Before: state(a, List{b, c}, Deadlines{b: lease + patience}, alive),
			Call:   Answers(release(b), false).Lengthens(),
			After:  state(a, List{c}, nil, Deadlines{c: patience}), Messages: told(c)},
		{Name: "Who leaves without a deadline gives back the same",
			Before: state(a, List{b, c}, Deadlines{c: lease + 2*patience}, alive),
			Call:   Answers(release(b), false).Lengthens(),
			After:  state(a, List{c}, Deadlines{c: lease + patience}, Deadlines{c: patience}), Messages: told(c)},
		{Name: "Nor does who leaves tell one of Redisson's when the lease ends",
			Before: state(a, List{b, c}, two, Deadlines{b: patience}),
			Call:   Answers(release(b), false).Lengthens(),
			After:  state(a, List{c}, Deadlines{c: lease + patience}, nil)},
		{Name: "nor anybody of a lock that has no end",
			Before: State{key: {Value: Hash{a: "1"}}, queue: {Value: List{b, c}}, timeouts: {Value: two}, living: {Value: alive}},
			Call:   Answers(release(b), false).Lengthens(),
			After:  State{key: {Value: Hash{a: "1"}}, queue: {Value: List{c}}, timeouts: {Value: Deadlines{c: lease + 2*patience}}, living: {Value: Deadlines{c: patience}}}},
		{Name: "Who was removed from the queue leaves nothing else behind",
			Before: state(a, List{b}, two, alive), Call: Answers(release(c), false).Lengthens(),
			After: state(a, List{b}, Deadlines{b: lease + patience}, Deadlines{b: patience})},
		{Name: "The last one to leave takes everything along",
			Before: state("", List{b}, Deadlines{b: patience}, Deadlines{b: patience}), Call: Answers(release(b), false), After: free},
		{Name: "A stranger's release leaves the holder alone",
			Before: state(a, nil, nil, nil), Call: Answers(release(d), false)},
		{Name: "Without a command nobody is woken",
			Before: state(a, List{b}, Deadlines{b: patience}, Deadlines{b: patience}),
			Call:   AnswersThen(fairlock.Release(key, w(a), scripts.Wake{}), true, false).Lengthens(),
			After:  state("", List{b}, Deadlines{b: patience}, Deadlines{b: patience})},
		{Name: "A key that is no lock is refused",
			Before: State{key: {Value: "7"}}, Call: Fails(release(a), "WRONGTYPE")},
		{Name: "A queue that is none is refused before anything is changed",
			Before: State{key: {Value: Hash{a: "1"}, TTL: lease}, queue: {Value: "7"}}, Call: Fails(release(a), "WRONGTYPE")},
		{Name: "so are deadlines",
			Before: State{key: {Value: Hash{a: "1"}, TTL: lease}, timeouts: {Value: "7"}}, Call: Fails(release(a), "WRONGTYPE")},
		{Name: "and what is kept of ours",
			Before: State{key: {Value: Hash{a: "1"}, TTL: lease}, living: {Value: "7"}}, Call: Fails(release(a), "WRONGTYPE")},
	})
}

// While the lock is free each execution wakes whoever is next: the message before may have gone to one who left.
func TestAReleaseThatFindsTheLockFreeWakesTheNext(t *testing.T) {
	ahead := Deadlines{b: time.Hour, c: 2 * time.Hour}
	alive := Deadlines{b: patience, c: patience}
	for name, row := range map[string]struct {
		before State
		call   scripts.Command[bool]
		held   bool
		next   string
	}{
		"the holder's":                      {state(a, List{b, c}, ahead, alive), fairlock.Release(key, w(a), wake), true, b},
		"of one who is next and leaves":     {state("", List{b, c}, ahead, alive), fairlock.Release(key, w(b), wake), false, c},
		"of one who is not next and leaves": {state("", List{b, c}, ahead, alive), fairlock.Release(key, w(c), wake), false, b},
		"a stranger's":                      {state("", List{b, c}, ahead, alive), fairlock.Release(key, w(d), wake), false, b},
		"past a head that is gone":          {state(a, List{b, c}, ahead, Deadlines{b: -time.Second, c: patience}), fairlock.Release(key, w(a), wake), true, c},
		"to a waiter of Redisson's":         {state(a, List{b, c}, ahead, nil), fairlock.Release(key, w(a), wake), true, b},
		"an administrator's":                {state(a, List{b, c}, ahead, alive), fairlock.Force(key, wake), true, b},
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				client := srv.Client(t)
				heard := listen(t, client)
				seed(t, client, row.before)
				for _, held := range []bool{row.held, false} {
					got, err := Send(t.Context(), client, row.call)
					require.NoError(t, err)
					require.Equal(t, held, got)
				}
				require.Equal(t, channel+":"+row.next, heard())
			})
		})
	}
}

func TestForce(t *testing.T) {
	Table(t, []Row{
		{Name: "Whoever holds it loses it",
			Before: State{key: {Value: Hash{a: "3"}, TTL: lease}}, Call: AnswersThen(fairlock.Force(key, wake), true, false), After: free},
		{Name: "The queue stays, and the next is woken",
			Before: state(a, List{b}, Deadlines{b: patience}, Deadlines{b: patience}),
			Call:   AnswersThen(fairlock.Force(key, wake), true, false).Lengthens(),
			After:  state("", List{b}, Deadlines{b: patience}, Deadlines{b: patience}), Messages: woken(b)},
		{Name: "The next who is gone is passed over",
			Before: state(a, List{b, c}, Deadlines{b: time.Hour, c: 2 * time.Hour}, Deadlines{b: -time.Second, c: patience}),
			Call:   AnswersThen(fairlock.Force(key, wake), true, false).Lengthens(),
			After:  state("", List{c}, Deadlines{c: 2 * time.Hour}, Deadlines{c: patience}), Messages: woken(c)},
		{Name: "Without a command nobody is woken",
			Before: state(a, List{b}, Deadlines{b: patience}, Deadlines{b: patience}),
			Call:   AnswersThen(fairlock.Force(key, scripts.Wake{}), true, false).Lengthens(),
			After:  state("", List{b}, Deadlines{b: patience}, Deadlines{b: patience})},
		{Name: "A free lock wakes nobody", Before: free, Call: Answers(fairlock.Force(key, wake), false)},
		{Name: "A key that is no lock is not deleted",
			Before: State{key: {Value: "7"}}, Call: Fails(fairlock.Force(key, wake), "WRONGTYPE")},
	})
}
