package fairlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// Owners of a process of ours, and of another one.
const (
	s1          = "0e1f4c7a-11aa-8f00-9d3c-7c9e4f0a5b61:"
	s2          = "5b7d0c2e-22bb-8f11-8a4d-1f2e3d4c5b6a:"
	p, q, r, s  = s1 + "1", s1 + "2", s1 + "3", s1 + "4"
	marked      = s1 + "-5" // cannot be handed the lock
	x, y, z     = s2 + "1", s2 + "2", s2 + "3"
	row         = "redlatch_fair_row:{f}:"
	handed      = fairlock.Handed
	handedFresh = handed + 2*patience
)

// turn is a release of which the answer is compared without the time. It sends no message: each execution would.
func turn(owner string, finished []string, arrivals ...fairlock.Waiter) scripts.Command[fairlock.Turn] {
	load := fairlock.Load{Finished: finished, Arrivals: arrivals}
	return scripts.Map(fairlock.Pass(key, w(owner), scripts.Wake{}, load), func(t fairlock.Turn) fairlock.Turn {
		return fairlock.Turn{Held: t.Held, Row: t.Row}
	})
}

func full(owners ...string) Deadlines  { return deadlines(fresh, owners) }
func heard(owners ...string) Deadlines { return deadlines(patience, owners) }

func deadlines(d time.Duration, owners []string) Deadlines {
	all := Deadlines{}
	for _, owner := range owners {
		all[owner] = d
	}
	return all
}

func held(row ...string) fairlock.Turn   { return fairlock.Turn{Held: true, Row: row} }
func repeat(row ...string) fairlock.Turn { return fairlock.Turn{Row: row} }

// holding is a state whose holder was handed the lock.
func holding(holder string, order List, deadlines, alive Deadlines) State {
	s := state(holder, order, deadlines, alive)
	s[key] = Key{Value: Hash{holder: "1"}, TTL: handed}
	return s
}

func TestATurn(t *testing.T) {
	Table(t, []Row{
		{Name: "The next of the process is handed the lock, and the answer names those behind it",
			Before: state(p, List{q, r, x, s}, full(q, r, x, s), heard(q, r, x, s)),
			Call:   AnswersThen(turn(p, nil), held("2", "3"), repeat("2", "3")).Lengthens(),
			After:  holding(q, List{r, x, s}, full(r, x, s), heard(r, x, s))},
		{Name: "Those who were served meanwhile leave",
			Before: state(p, List{q, r, s}, full(q, r, s), heard(q, r, s)),
			Call:   AnswersThen(turn(p, []string{q, r}), held("4"), repeat("4")).Lengthens(),
			After:  holding(s, nil, nil, nil)},
		{Name: "wherever they stand",
			Before: state(p, List{x, q, y, r}, full(q, r, x, y), heard(q, r, x, y)),
			Call:   AnswersThen(turn(p, []string{q, r}), held(), repeat()).Lengthens(),
			After:  state("", List{x, y}, full(x, y), heard(x, y))},
		{Name: "also where the lock was lost",
			Before: state(x, List{q, r, y}, full(q, r, y), heard(q, r, y)),
			Call:   Answers(turn(p, []string{q, r}), repeat()).Lengthens(),
			After:  state(x, List{y}, full(y), heard(y))},
		{Name: "Those who come stand at the end, in their order",
			Before: state(p, List{x}, full(x), heard(x)),
			Call:   AnswersThen(turn(p, nil, w(q), w(r)), held(), repeat()).Lengthens(),
			After:  state("", List{x, q, r}, Deadlines{x: fresh, q: handedFresh, r: handedFresh}, heard(x, q, r))},
		{Name: "Of whom the first is handed the lock where nobody else waits",
			Before: state(p, nil, nil, nil),
			Call:   AnswersThen(turn(p, nil, w(q), w(r)), held("2", "3"), repeat("2", "3")).Lengthens(),
			After:  holding(q, List{r}, deadlines(handedFresh, []string{r}), heard(r))},
		{Name: "One that cannot be handed the lock ends the row",
			Before: state(p, List{q, marked, r}, full(q, marked, r), heard(q, marked, r)),
			Call:   AnswersThen(turn(p, nil), held("2"), repeat("2")).Lengthens(),
			After:  holding(q, List{marked, r}, full(marked, r), heard(marked, r))},
		{Name: "and is not handed it as the first",
			Before: state(p, List{marked, r}, full(marked, r), heard(marked, r)),
			Call:   AnswersThen(turn(p, nil), held(), repeat()).Lengthens(),
			After:  state("", List{marked, r}, full(marked, r), heard(marked, r))},
		{Name: "One of Redisson's is not handed it",
			Before: state(p, List{b, q}, Deadlines{b: redisson, q: redisson + patience}, heard(q)),
			Call:   AnswersThen(turn(p, nil), held(), repeat()).Lengthens(),
			After:  state("", List{b, q}, Deadlines{b: redisson, q: redisson + patience}, heard(q))},
		{Name: "In front of one of Redisson's the lock is handed on, and that one's deadline counts from the new lease",
			Before: state(p, List{q, b}, Deadlines{q: time.Minute, b: time.Minute + redisson}, heard(q)),
			Call:   AnswersThen(turn(p, nil), held("2"), repeat("2")).Lengthens(),
			After:  holding(q, List{b}, Deadlines{b: handed + redisson}, nil)},
		{Name: "Those who come behind one of Redisson's are behind what that will subtract",
			Before: state(p, List{b}, Deadlines{b: time.Minute}, nil),
			Call:   AnswersThen(turn(p, nil, w(q), w(r)), held(), repeat()).Lengthens(),
			After:  state("", List{b, q, r}, Deadlines{b: time.Minute, q: handed + redisson + patience, r: handed + redisson + patience}, heard(q, r))},
		{Name: "Who has left and whose process is gone is passed over",
			Before: state(p, List{x, q}, full(x, q), Deadlines{x: -time.Second, q: patience}),
			Call:   AnswersThen(turn(p, nil), held("2"), repeat("2")).Lengthens(),
			After:  holding(q, nil, nil, nil)},
	})
}

// Executed when all is over, a command of the past hands nothing to anybody who does not want it, and takes nothing away.
func TestALateTurnTakesNothingAway(t *testing.T) {
	Table(t, []Row{
		{Name: "another holds, others wait",
			Before: state(x, List{y}, full(y), heard(y)), Call: Answers(turn(p, []string{q, r}), repeat()).Lengthens()},
		{Name: "one of its own process holds: the answer says so, as it did in time",
			Before: state(q, List{r, y}, full(r, y), heard(r, y)), Call: Answers(turn(p, nil), repeat("2", "3")).Lengthens()},
		{Name: "one that was to come holds by now, and does not come again",
			Before: state(q, nil, nil, nil), Call: Answers(turn(p, nil, w(q)), repeat("2")).Lengthens()},
		{Name: "one that was to come stands in the queue by now",
			Before: state(x, List{q, r}, full(q, r), heard(q, r)), Call: Answers(turn(p, nil, w(q)), repeat()).Lengthens()},
	})
}

func TestAnAcquisitionCarriesWhatItsProcessHasToSay(t *testing.T) {
	load := func(owner string, finished []string, arrivals ...fairlock.Waiter) scripts.Command[fairlock.Answer] {
		cmd := fairlock.Acquire(key, w(owner), lease, wake, nil, fairlock.Load{Finished: finished, Arrivals: arrivals})
		return scripts.Map(cmd, func(a fairlock.Answer) fairlock.Answer {
			a.At = 0
			return a
		})
	}
	Table(t, []Row{
		{Name: "Those behind the one who asks come with it",
			Before: state(x, nil, nil, nil),
			Call:   Answers(load(p, nil, w(q), w(r)), fairlock.Answer{Again: lease, Whole: true}).Lengthens(),
			After:  state(x, List{p, q, r}, full(p, q, r), heard(p, q, r))},
		{Name: "also where it gets the lock",
			Before: free,
			Call: AnswersThen(load(p, nil, w(q), w(r)), fairlock.Answer{Held: true, Place: -1, Whole: true, Row: []string{"2", "3"}},
				fairlock.Answer{Held: true, Place: -1}).Lengthens(),
			After: state(p, List{q, r}, full(q, r), heard(q, r))},
		{Name: "Those who are finished with leave",
			Before: state(x, List{q, r, s}, full(q, r, s), heard(q, r, s)),
			Call:   Answers(load(s, []string{q, r}), fairlock.Answer{Again: lease, Whole: true}).Lengthens(),
			After:  state(x, List{s}, full(s), heard(s))},
		{Name: "One of Redisson's in the queue is seen",
			Before: state(x, List{b}, Deadlines{b: redisson}, nil),
			Call:   Answers(load(p, nil), fairlock.Answer{Again: lease, Place: 1, Whole: true, Foreign: true, Leaves: true}).Lengthens(),
			After:  state(x, List{b, p}, Deadlines{b: redisson, p: lease + redisson + patience}, heard(p))},
	})
}

// A process that listens is handed the lock, or is told, on its own channel.
func TestWhatAProcessHears(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		ear := client.Subscribe(t.Context(), row+s2[:len(s2)-1])
		t.Cleanup(func() { require.NoError(t, ear.Close()) })
		_, err := ear.ReceiveTimeout(t.Context(), time.Minute)
		require.NoError(t, err)
		next := func() fairlock.Message {
			event, err := ear.ReceiveTimeout(t.Context(), time.Minute)
			require.NoError(t, err)
			m, ok := fairlock.Read(event.(*redis.Message).Payload)
			require.True(t, ok)
			return m
		}
		for name, cmd := range map[string]func() error{
			"with those of its own process": func() error {
				got, err := Send(t.Context(), client, fairlock.Pass(key, w(p), wake, fairlock.Load{}))
				require.Empty(t, got.Row, "the numbers of another session")
				return err
			},
			"without": func() error { _, err := Send(t.Context(), client, fairlock.Release(key, w(p), wake)); return err },
		} {
			require.NoError(t, client.FlushDB(t.Context()).Err())
			seed(t, client, state(p, List{x, y, q, z}, full(x, y, q, z), heard(x, y, q, z)))
			for range 2 {
				require.NoError(t, cmd(), name)
			}
			m := next()
			require.Equal(t, []string{"1", "2"}, m.Row, name)
			require.Positive(t, m.At)
			holder, err := client.HGetAll(t.Context(), key).Result()
			require.NoError(t, err)
			require.Equal(t, map[string]string{x: "1"}, holder)
		}
		require.NoError(t, client.FlushDB(t.Context()).Err())
		seed(t, client, state(x, List{s2 + "-7"}, full(s2+"-7"), heard(s2+"-7")))
		_, err = Send(t.Context(), client, fairlock.Force(key, wake))
		require.NoError(t, err)
		require.Equal(t, fairlock.Message{Void: true}, next(), "the holder")
		require.Equal(t, fairlock.Message{Wakes: "-7"}, next(), "and the next")
	})
}
