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

func TestConfirmRead(t *testing.T) {
	confirm := func(most int, lease time.Duration) scripts.Command[rwlock.Confirmation] {
		return rwlock.ConfirmRead(key, a, most, lease, wake, 0)
	}
	alone, crowd, gone := rwlock.Confirmation{Held: true}, rwlock.Confirmation{Held: true, Others: true}, rwlock.Confirmation{}
	Table(t, []Row{
		{Name: "A reader that reads is promised more",
			Before: lock("read", short, Hash{a: "1"}, marked(a, short)), Call: Answers(confirm(1, lease), alone).Lengthens(),
			After: lock("read", lease, Hash{a: "1"}, marked(a, lease), listed(a, lease))},
		{Name: "but never less, and its number of holds stays",
			Before: lock("read", long, Hash{a: "2", b: "1"}, marked(a, long, long), marked(b, short)), Call: Answers(confirm(3, lease), alone),
			After: lock("read", long, Hash{a: "2", b: "1"}, marked(a, long, long), marked(b, short), listed(a, long))},
		{Name: "A writer that has announced itself waits",
			Before: with(lock("read", lease, Hash{a: "1"}, marked(a, lease)), announced(short)), Call: Answers(confirm(1, lease), crowd).Lengthens(),
			After: with(lock("read", lease, Hash{a: "1"}, marked(a, lease), listed(a, lease)), announced(short))},
		{Name: "A reader that reads no more is told, and makes nothing",
			Before: lock("read", lease, Hash{b: "1"}, marked(b, lease), marked(a, short)), Call: Answers(confirm(1, lease), gone),
			After: lock("read", lease, Hash{b: "1"}, marked(b, lease))},
		{Name: "The lock is gone", Before: free, Call: Answers(confirm(2, lease), gone)},
	})
}

// Who listens to the channel of releases waits, but the one who asks does not wait for itself.
func TestConfirmReadKnowsWhoListens(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		name := srv.Key(t, "rw")
		to := scripts.Wake{Publish: "PUBLISH", Channel: "redisson_rwlock:{" + name + "}"}
		_, err := Send(t.Context(), client, rwlock.AcquireRead(name, a, lease, ""))
		require.NoError(t, err)
		others := func(listening int) bool {
			c, err := Send(t.Context(), client, rwlock.ConfirmRead(name, a, 1, lease, to, listening))
			require.NoError(t, err)
			require.True(t, c.Held)
			return c.Others
		}
		require.False(t, others(0))
		sub := client.Subscribe(t.Context(), to.Channel)
		defer sub.Close()
		_, err = sub.Receive(t.Context())
		require.NoError(t, err)
		require.True(t, others(0))
		require.False(t, others(1))
	})
}

func TestTurnWrite(t *testing.T) {
	turn := func(most int) scripts.Command[scripts.Attempt] {
		return rwlock.TurnWrite(key, a, most, wake, bw, short)
	}
	refused := func(remaining time.Duration) scripts.Attempt {
		return scripts.Attempt{Remaining: remaining, Freed: true}
	}
	Table(t, []Row{
		{Name: "The last reader gives the lock to the writer, and nobody is woken",
			Before: lock("read", lease, Hash{a: "1"}, marked(a, lease), listed(a, lease)), Call: AnswersThen(turn(1), mine, mine),
			After: lock("write", short, Hash{bw: "1"})},
		{Name: "All its holds end, with all markers that it ever had",
			Before: lock("read", lease, Hash{a: "2"}, marked(a, lease, lease, lease)), Call: AnswersThen(turn(3), mine, mine),
			After: lock("write", short, Hash{bw: "1"})},
		{Name: "While others read, the writer gets nothing, and is not told so by a repetition",
			Before: lock("read", long, Hash{a: "1", b: "2"}, marked(a, long), marked(b, short, lease)),
			Call:   AnswersThen(turn(1), refused(lease), scripts.Attempt{}),
			After:  lock("read", lease, Hash{b: "2"}, marked(b, short, lease))},
		{Name: "A dead reader does not keep the writer out",
			Before: lock("read", long, Hash{a: "1", u + ":3": "2"}, marked(a, long)), Call: AnswersThen(turn(1), mine, mine),
			After: lock("write", short, Hash{bw: "1"})},
		{Name: "A reader of Redisson keeps it out, also without a marker",
			Before: lock("read", short, Hash{a: "1", java: "1"}, marked(a, short)), Call: AnswersThen(turn(1), refused(short), scripts.Attempt{}),
			After:    with(lock("read", short, Hash{java: "1"}), recorded(short, short, lease)),
			Messages: read0},
		{Name: "A reader that had lost the lock gives nothing, and what is left of it goes",
			Before: lock("read", lease, Hash{java: "1"}, marked(java, lease), marked(a, short)), Call: Answers(turn(1), scripts.Attempt{}),
			After: lock("read", lease, Hash{java: "1"}, marked(java, lease))},
		{Name: "The lock is gone", Before: free, Call: Answers(turn(1), scripts.Attempt{})},
		{Name: "Another writer has it",
			Before: lock("write", lease, Hash{u + ":4:write": "1"}), Call: Answers(turn(1), scripts.Attempt{})},
		{Name: "A writer that reads keeps both",
			Before: lock("write", lease, Hash{aw: "1", a: "1"}, marked(a, lease)), Call: AnswersThen(turn(1), refused(lease), scripts.Attempt{}),
			After: lock("write", lease, Hash{aw: "1"})},
		{Name: "A key that is no lock is refused", Before: other, Call: Fails(turn(1), "WRONGTYPE")},
	})
}

func TestTurnRead(t *testing.T) {
	turn := func(to scripts.Wake) scripts.Command[scripts.Attempt] {
		return rwlock.TurnRead(key, aw, to, 0, b, short)
	}
	crowd := rwlock.TurnRead(key, aw, wake, -1, b, short) // as if one more listened
	Table(t, []Row{
		{Name: "The writer gives the lock to a reader, and nobody is woken where nobody listens",
			Before: lock("write", lease, Hash{aw: "2"}), Call: Answers(turn(scripts.Wake{}), mine),
			After: lock("read", short, Hash{b: "1"}, marked(b, short), listed(b, short))},
		{Name: "Others that listen are woken",
			Before: lock("write", lease, Hash{aw: "1"}), Call: AnswersThen(crowd, mine, mine),
			After: lock("read", short, Hash{b: "1"}, marked(b, short), listed(b, short)), Messages: write1},
		{Name: "A writer that reads goes on to read",
			Before: lock("write", lease, Hash{aw: "1", a: "1"}, marked(a, lease), listed(a, lease)), Call: Answers(turn(scripts.Wake{}), mine),
			After: with(lock("read", lease, Hash{a: "1", b: "1"}, marked(a, lease), marked(b, short)),
				State{list: {Value: Deadlines{a: lease, b: short}, TTL: lease}})},
		{Name: "What a lock that was deleted has left behind does not count",
			Before: with(lock("write", lease, Hash{aw: "1"}), listed(java, lease)), Call: Answers(turn(scripts.Wake{}), mine),
			After: lock("read", short, Hash{b: "1"}, marked(b, short), listed(b, short))},
		{Name: "A writer that had lost the lock gives nothing",
			Before: lock("write", lease, Hash{u + ":4:write": "1"}), Call: Answers(turn(wake), scripts.Attempt{})},
		{Name: "The lock is gone", Before: free, Call: Answers(turn(wake), scripts.Attempt{})},
		{Name: "A key that is no lock is refused", Before: other, Call: Fails(turn(wake), "WRONGTYPE")},
	})
}
