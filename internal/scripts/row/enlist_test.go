package row_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// An answer is a row.Answer whose time is left to other tests.
type answer struct {
	Held      bool
	Token     int64
	Remaining time.Duration
	Sits      bool
}

func answered(cmd scripts.Command[row.Answer]) scripts.Command[answer] {
	return scripts.Map(cmd, func(s row.Answer) answer { return answer{s.Held, s.Token, s.Remaining, s.At > 0} })
}

// with is a state with more keys.
func with(state State, more State) State {
	for name, k := range more {
		state[name] = k
	}
	return state
}

// held is the lock, and its token at 7 where there is one.
func (f form) held(ttl time.Duration, fields Hash) State {
	state := f.free()
	state[key] = Key{Value: fields, TTL: ttl}
	return state
}

func (f form) free() State { return f.issued("7") }

func (f form) issued(last string) State {
	if f.fenced {
		return State{token: {Value: last}}
	}
	return State{}
}

// token is what a lock with tokens has where a plain one has 0.
func (f form) token(n int64) int64 {
	if f.fenced {
		return n
	}
	return 0
}

func TestEnlist(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			seats := func(ttl time.Duration, there Deadlines) State {
				order := Scores{}
				for i, owner := range []string{b, a, c} {
					if _, ok := there[owner]; ok {
						order[owner] = float64(1_795_000_000_000_000 + i)
					}
				}
				return State{line: {Value: order, TTL: ttl}, alive: {Value: there, TTL: ttl}}
			}
			mine, first := answer{Held: true, Token: f.token(7)}, answer{Held: true, Token: f.token(8)}
			taken := func() State {
				return with(f.issued("8"), State{key: {Value: Hash{a: "1"}, TTL: lease}})
			}
			before := Deadlines{a: time.Minute, b: 2 * time.Minute}
			Table(t, []Row{
				{Name: "A free lock is taken, with the lease as TTL",
					Before: f.free(), Call: Answers(answered(f.enlist(a, lease, patience)), first).Lengthens(), After: taken()},
				{Name: "Whoever takes it leaves the row, and the others do not",
					Before: with(f.free(), seats(long, before)), Call: Answers(answered(f.enlist(a, lease, patience)), first).Lengthens(),
					After: with(taken(), seats(long, Deadlines{b: 2 * time.Minute}))},
				{Name: "What the owner holds already lasts for its lease from now on",
					Before: f.held(brief, Hash{a: "1"}), Call: Answers(answered(f.enlist(a, lease, patience)), mine).Lengthens(),
					After: f.held(lease, Hash{a: "1"})},
				{Name: "What lasts longer is not shortened, and a count stays",
					Before: f.held(long, Hash{a: "3"}), Call: Answers(answered(f.enlist(a, lease, patience)), mine)},
				{Name: "Whoever sits stays where it sits, and is known to be there for longer",
					Before: with(f.held(lease, Hash{c: "1"}), seats(long, before)),
					Call:   Answers(answered(f.enlist(a, lease, 5*time.Minute)), answer{Remaining: lease, Sits: true}).Lengthens(),
					After: with(f.held(lease, Hash{c: "1"}), seats(5*time.Minute,
						Deadlines{a: 5 * time.Minute, b: 2 * time.Minute}))},
				{Name: "The row lasts for as long as somebody may sit in it, not only for as long as this one",
					Before: with(f.held(lease, Hash{c: "1"}), seats(2*time.Minute, before)),
					Call:   Answers(answered(f.enlist(a, lease, patience)), answer{Remaining: lease, Sits: true}).Lengthens(),
					After:  with(f.held(lease, Hash{c: "1"}), seats(2*time.Minute, Deadlines{a: patience, b: 2 * time.Minute}))},
				{Name: "A row without a TTL gets one",
					Before: with(f.held(lease, Hash{c: "1"}), seats(0, before)),
					Call:   Answers(answered(f.enlist(a, lease, patience)), answer{Remaining: lease, Sits: true}).Lengthens(),
					After:  with(f.held(lease, Hash{c: "1"}), seats(patience, Deadlines{a: patience, b: 2 * time.Minute}))},
				{Name: "A lock without TTL says so",
					Before: with(f.held(0, Hash{c: "1"}), seats(long, before)),
					Call:   Answers(answered(f.enlist(a, lease, patience)), answer{Remaining: forever, Sits: true}).Lengthens(),
					After:  with(f.held(0, Hash{c: "1"}), seats(long, before))},
				{Name: "A key that is no lock is refused, and nobody sits down",
					Before: with(f.free(), State{key: {Value: "7", TTL: lease}}), Call: Fails(f.enlist(a, lease, patience), "WRONGTYPE")},
				{Name: "Where a foreign key stands in the way of the row nobody sits",
					Before: with(f.held(lease, Hash{c: "1"}), State{line: {Value: "x"}}),
					Call:   Answers(answered(f.enlist(a, lease, patience)), answer{Remaining: lease})},
				{Name: "also where it stands in the way of the other set",
					Before: with(f.held(lease, Hash{c: "1"}), State{alive: {Value: "x"}}),
					Call:   Answers(answered(f.enlist(a, lease, patience)), answer{Remaining: lease})},
				{Name: "nor does it keep anybody from a free lock",
					Before: with(f.free(), State{line: {Value: "x"}, alive: {Value: "y"}}),
					Call:   Answers(answered(f.enlist(a, lease, patience)), first).Lengthens(),
					After:  with(taken(), State{line: {Value: "x"}, alive: {Value: "y"}})},
			})
		})
	}
}

func TestATokenThatIsNoNumberIsToldAsByAcquire(t *testing.T) {
	f := forms[1]
	Table(t, []Row{{Name: "a free lock is not taken", Before: State{token: {Value: "x"}},
		Call: Fails(f.enlist(a, lease, patience), "not an integer")}})
}

func TestWhoSitsDownSitsBehindTheOthersByTheServersClock(t *testing.T) {
	onStage(t, func(s *stage) {
		s.holds(c, 1)
		from := s.now()
		first := send(s, s.enlist(b, lease, patience))
		second := send(s, s.enlist(a, lease, patience)) // by name it would come first
		to := s.now()
		require.Equal(s, []string{b, a}, s.row())
		for _, sitting := range []row.Answer{first, second} {
			require.False(s, sitting.Held)
			s.lasts(lease, sitting.Remaining)
			require.GreaterOrEqual(s, sitting.At, from.UnixMilli())
			require.LessOrEqual(s, sitting.At, to.UnixMilli())
		}
		score, err := s.client.ZScore(s.Context(), line, a).Result()
		require.NoError(s, err)
		require.GreaterOrEqual(s, int64(score), from.UnixMicro())
		require.LessOrEqual(s, int64(score), to.UnixMicro())
		until, err := s.client.ZScore(s.Context(), alive, a).Result()
		require.NoError(s, err)
		require.Equal(s, second.At+patience.Milliseconds(), int64(until))
		s.lasts(patience, s.ttl(line))
		s.lasts(patience, s.ttl(alive))

		s.until("the clock goes on", func() bool { return s.now().UnixMilli() > second.At })
		again := send(s, s.enlist(b, lease, patience))
		require.Greater(s, again.At, first.At)
		require.Equal(s, []string{b, a}, s.row(), "it keeps its place")
		require.Empty(s, s.heard())
	})
}

// The server tells microseconds without leading zeros.
func TestTheBeginningOfASecondIsBeforeTheRestOfIt(t *testing.T) {
	s := newStage(t, forms[0], redistest.Mini(t))
	second := time.Unix(1_795_000_000, 0)
	s.srv.Mini.SetTime(second)
	s.holds(c, 1)
	for _, seat := range []struct {
		owner string
		after time.Duration
	}{{a, 7 * time.Microsecond}, {b, 100 * time.Millisecond}} { // by name b would come first
		s.srv.Mini.SetTime(second.Add(seat.after))
		require.Equal(s, second.Add(seat.after).UnixMilli(), send(s, s.enlist(seat.owner, lease, patience)).At)
	}
	require.Equal(s, []string{a, b}, s.row())
}

// Who sits keeps its place when the clock is set back, but not behind everybody who comes until it is where it was.
func TestWhoSatDownBeforeTheClockWasSetBackIsAheadOfThoseWhoComeAfterItHasAsked(t *testing.T) {
	s := newStage(t, forms[0], redistest.Mini(t))
	noon := time.Unix(1_795_000_000, 0)
	s.holds("x:1", 1)
	for i, seat := range []struct {
		owner string
		at    time.Duration
	}{{a, 0}, {b, -time.Hour}, {a, time.Second - time.Hour}, {c, 2*time.Second - time.Hour}} {
		s.srv.Mini.SetTime(noon.Add(seat.at))
		require.False(s, send(s, s.enlist(seat.owner, lease, patience)).Held, i)
	}
	require.Equal(s, []string{b, a, c}, s.row())
}

// The row is an extra: a server without memory refuses it, and what it refuses a lock itself is told as by Acquire.
func TestAFullServerRefusesASeatAndNothingElse(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s := full(t, f, func(s *stage) { s.holds(c, 1) })
			got := send(s, s.enlist(a, lease, patience))
			s.lasts(lease, got.Remaining)
			require.False(s, got.Held)
			require.Zero(s, got.At)
			require.Equal(s, []string{key}, s.srv.Keys(s))

			require.NoError(s, s.client.Del(s.Context(), key).Err())
			_, err := Send(s.Context(), s.client, s.enlist(a, lease, patience))
			require.ErrorContains(s, err, "OOM")
			require.Empty(s, s.srv.Keys(s))
		})
	}
}

// A lock may have the name of another one and a suffix.
func TestWhatGoesWithARowIsNoOtherLocksRow(t *testing.T) {
	srv := redistest.Process(t)
	client, name := srv.Client(t), "{n}"
	for _, suffix := range []string{"", ":alive", ":open"} {
		require.NoError(t, client.HSet(t.Context(), name+suffix, a, 1).Err())
	}
	sitting, err := Send(t.Context(), client, rlock.Enlist(name, b, lease, keys.LockRowKeys(name), patience, false))
	require.NoError(t, err)
	require.NotZero(t, sitting.At)
	passed, err := Send(t.Context(), client, rlock.Pass(name, a, wake,
		row.Turn{Row: keys.LockRowKeys(name), Lease: brief, Candidate: c, Patience: patience, Shut: time.Second, Open: time.Minute}))
	require.NoError(t, err)
	require.True(t, passed.Freed)
	for _, suffix := range []string{":alive", ":open"} {
		require.Zero(t, client.Exists(t.Context(), keys.LockRow(name+suffix)).Val(), suffix)
	}
}
