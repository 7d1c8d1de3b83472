package row_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

var (
	free  = row.Release{Freed: true}
	woken = channel + " 0"
)

// passedTo requires that the owner holds what was passed just now, and that its process was told so, and nobody else.
func (s *stage) passedTo(owner string, got row.Release, from time.Time, shut string) {
	s.Helper()
	require.True(s, got.Freed)
	require.True(s, got.Passed)
	require.Equal(s, map[string]string{owner: "1"}, s.hash())
	s.lasts(brief, s.ttl(key))
	issued := "0"
	if s.fenced {
		var err error
		issued, err = s.client.Get(s.Context(), token).Result()
		require.NoError(s, err)
	}
	session, _, _ := strings.Cut(owner, ":")
	heard := s.heard()
	require.Len(s, heard, 1)
	m, ok := row.Read(strings.TrimPrefix(heard[0], line+":"+session+" "))
	require.True(s, ok, heard)
	require.Contains(s, []int64{0, m.At}, got.At, "only the end of a streak says when")
	require.True(s, from.UnixMilli() <= m.At && m.At <= s.now().UnixMilli())
	require.Equal(s, []string{fmt.Sprintf("%s:%s %s %d %s %s", line, session, owner, m.At, issued, shut)}, heard)
}

// freed requires that nobody holds, and that everybody was told so.
func (s *stage) freed(got row.Release) {
	s.Helper()
	require.Equal(s, free, got)
	require.Empty(s, s.hash())
	require.Equal(s, []string{woken}, s.heard())
}

func TestPassWithNobodyToPassTo(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			turn, toNobody := row.Turn{Row: rows, Lease: brief}, row.Turn{Row: rows}
			everybody := []Message{{Channel: channel, Payload: "0"}}
			sit := func(there Deadlines) State {
				order := Scores{}
				for owner := range there {
					order[owner] = 1_795_000_000_000_000
				}
				return State{line: {Value: order, TTL: long}, alive: {Value: there, TTL: long}}
			}
			once := func(turn row.Turn, wake scripts.Wake) Call {
				return AnswersThen(f.pass(a, wake, turn), free, row.Release{})
			}
			Table(t, []Row{
				{Name: "Nobody sits: the lock is free and the waiters are woken",
					Before: f.held(lease, Hash{a: "1"}), Call: once(turn, wake), After: f.free(), Messages: everybody},
				{Name: "All holds of the owner end, whatever their number",
					Before: f.held(lease, Hash{a: "3"}), Call: once(turn, wake), After: f.free(), Messages: everybody},
				{Name: "Without a message nobody is woken",
					Before: f.held(lease, Hash{a: "1"}), Call: once(toNobody, scripts.Wake{}), After: f.free()},
				{Name: "Nobody else's field is touched",
					Before: f.held(lease, Hash{a: "1", b: "2"}), Call: once(turn, wake), After: f.held(lease, Hash{b: "2"}), Messages: everybody},
				{Name: "Nobody listens: whoever sits is gone",
					Before: with(f.held(lease, Hash{a: "1"}), sit(Deadlines{b: time.Minute, c: time.Minute})), Call: once(turn, wake),
					After: f.free(), Messages: everybody},
				{Name: "Whoever held nothing leaves the row, and nobody is told",
					Before: with(f.held(lease, Hash{b: "1"}), sit(Deadlines{a: time.Minute, c: time.Minute})),
					Call:   Answers(f.pass(a, wake, turn), row.Release{}),
					After:  with(f.held(lease, Hash{b: "1"}), sit(Deadlines{c: time.Minute}))},
				{Name: "also when the lock is free",
					Before: with(f.free(), sit(Deadlines{a: time.Minute})), Call: Answers(f.pass(a, wake, toNobody), row.Release{}), After: f.free()},
				{Name: "and it sits nobody down",
					Before: f.held(lease, Hash{b: "1"}),
					Call:   Answers(f.pass(a, wake, row.Turn{Row: rows, Lease: brief, Candidate: c, Patience: patience}), row.Release{})},
				{Name: "A key that is no lock is refused",
					Before: with(f.free(), State{key: {Value: "7", TTL: lease}}), Call: Fails(f.pass(a, wake, turn), "WRONGTYPE")},
			})
		})
	}
}

func TestPassToTheFirstWhoIsThere(t *testing.T) {
	onStage(t, func(s *stage) {
		if s.fenced {
			require.NoError(s, s.client.Set(s.Context(), token, 41, time.Hour).Err())
		}
		s.listen(v, w)
		s.sits(patience, b, c)
		s.holds(a, 3)
		from := s.now()
		cmd := s.pass(a, wake, row.Turn{Row: rows, Lease: brief})
		got := send(s, cmd)
		s.passedTo(b, got, from, "0")
		require.Equal(s, []string{c}, s.row())
		if s.fenced {
			require.Equal(s, "42", s.client.Get(s.Context(), token).Val())
			require.Negative(s, s.ttl(token), "its TTL is taken away")
		}

		require.Equal(s, row.Release{}, send(s, cmd), "again")
		require.Equal(s, map[string]string{b: "1"}, s.hash())
		require.Equal(s, []string{c}, s.row())
		require.Empty(s, s.heard())
		if s.fenced {
			require.Equal(s, "42", s.client.Get(s.Context(), token).Val())
		}

		from = s.now()
		got = send(s, s.pass(b, wake, row.Turn{Row: rows, Lease: brief, Shut: 3 * time.Millisecond}))
		s.passedTo(c, got, from, "3")
		require.Empty(s, s.row())

		held := send(s, s.enlist(c, lease, patience)) // who has not heard of it finds out
		require.True(s, held.Held)
		require.Equal(s, s.token(43), held.Token)
		s.lasts(lease, s.ttl(key))
		s.freed(send(s, s.pass(c, wake, row.Turn{Row: rows, Lease: brief})))
	})
}

func TestWhoIsGoneIsPassedOver(t *testing.T) {
	onStage(t, func(s *stage) {
		dead := func(n int) string { return fmt.Sprintf("dead%d:1", n) }
		for what, sit := range map[string]func(){
			"its connection has ended":       func() { s.sits(patience, dead(1)) },
			"it has not asked for too long":  func() { s.listen(u); s.sits(-time.Millisecond, u+":7") },
			"nobody knows whether it is":     func() { s.listen(u); s.sits(patience, u+":7"); s.client.ZRem(s.Context(), alive, u+":7") },
			"several, for different reasons": func() { s.listen(u); s.sits(patience, dead(1), dead(2)); s.sits(-time.Second, u+":7", dead(3)) },
		} {
			s.clear()
			sit()
			s.sits(patience, b)
			s.listen(v)
			s.holds(a, 1)
			from := s.now()
			got := send(s, s.pass(a, wake, row.Turn{Row: rows, Lease: brief}))
			s.Logf("%s", what)
			s.passedTo(b, got, from, "0")
			require.Empty(s, s.row(), what)
			require.Zero(s, s.client.Exists(s.Context(), line, alive).Val(), what)
		}
	})
}

func TestWhoeverGivesMaySitDownBehindTheOthers(t *testing.T) {
	onStage(t, func(s *stage) {
		turn := row.Turn{Row: rows, Lease: brief, Candidate: u + ":50", Patience: patience}
		s.listen(u, v)

		// Others wait elsewhere, and it sat before them.
		s.sits(patience, turn.Candidate, b, c)
		s.holds(a, 1)
		from := s.now()
		got := send(s, s.pass(a, wake, turn))
		s.passedTo(b, got, from, "0")
		require.Equal(s, []string{c, turn.Candidate}, s.row())
		until, err := s.client.ZScore(s.Context(), alive, turn.Candidate).Result()
		require.NoError(s, err)
		require.GreaterOrEqual(s, int64(until), from.Add(patience).UnixMilli())
		require.LessOrEqual(s, int64(until), s.now().Add(patience).UnixMilli())
		s.lasts(patience, s.ttl(line))
		s.lasts(patience, s.ttl(alive))

		// Nobody waits elsewhere: the lock is for everybody, not for itself.
		s.client.Del(s.Context(), line, alive, key)
		s.holds(a, 1)
		s.freed(send(s, s.pass(a, wake, turn)))
		require.Equal(s, []string{turn.Candidate}, s.row())

		// It is not to be passed: whoever sits keeps its place.
		s.sits(patience, b)
		s.holds(a, 1)
		turn.Lease = 0
		s.freed(send(s, s.pass(a, wake, turn)))
		require.Equal(s, []string{turn.Candidate, b}, s.row())
	})
}

// Whatever stands in the keys of the row, the lock is given back and the waiters are woken.
func TestJunkInTheRowKeepsNobodyFromTheLock(t *testing.T) {
	onStage(t, func(s *stage) {
		ctx := s.Context()
		turn := row.Turn{Row: rows, Lease: brief, Candidate: u + ":50", Patience: patience}
		for what, spoil := range map[string]func(){
			"the row is a text":    func() { s.client.Set(ctx, line, "x", 0) },
			"its other set is":     func() { s.client.Set(ctx, alive, "x", 0) },
			"its other set became": func() { s.listen(v); s.sits(patience, b); s.client.Set(ctx, alive, "x", 0) },
			"both are":             func() { s.client.Set(ctx, line, "x", 0); s.client.Set(ctx, alive, "x", 0) },
			"a list":               func() { s.client.RPush(ctx, alive, "x") },
			"who is no owner":      func() { s.sits(patience, "junk", "", ":", "junk again:") },
			"forever there":        func() { s.client.ZAdd(ctx, alive, redis.Z{Score: 1e300, Member: b}) },
			"never to come":        func() { s.client.ZAdd(ctx, line, redis.Z{Score: 1e300, Member: "x:1"}) },
			"before everybody":     func() { s.client.ZAdd(ctx, line, redis.Z{Score: -1e300, Member: "x:1"}) },
			"nothing but who was":  func() { s.sits(patience, "x:1"); s.client.Del(ctx, line) },
		} {
			for _, seat := range []string{"", turn.Candidate} {
				s.clear()
				spoil()
				s.holds(a, 1)
				turn := turn
				turn.Candidate = seat
				got, err := Send(ctx, s.client, s.pass(a, wake, turn))
				require.NoError(s, err, what)
				require.Equal(s, free, got, what)
				require.Empty(s, s.hash(), what)
				require.Equal(s, []string{woken}, s.heard(), what)
				if seat != "" {
					continue
				}
				s.holds(c, 1) // and whoever waits may wait
				_, err = Send(ctx, s.client, s.enlist(b, lease, patience))
				require.NoError(s, err, what)
			}
		}
	})
}

// A member that is no owner is called by nobody's channel, but somebody may listen to anything.
func TestAListenerOfAStrangeNameIsServedLikeAnother(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen("") // the channel is the row's name and a colon
		s.sits(patience, "junk", b)
		s.listen(v)
		s.holds(a, 1)
		require.True(s, send(s, s.pass(a, wake, row.Turn{Row: rows, Lease: brief})).Passed)
		require.Len(s, s.hash(), 1)
		require.LessOrEqual(s, s.ttl(key), brief, "it is over soon")
		require.Len(s, s.heard(), 1)
	})
}

func TestATokenThatIsNoNumberKeepsNobodyFromGivingBack(t *testing.T) {
	onStage(t, func(s *stage) {
		if !s.fenced {
			return
		}
		for what, spoil := range map[string]func(){
			"a text":        func() { s.client.Set(s.Context(), token, "x", 0) },
			"a list":        func() { s.client.RPush(s.Context(), token, "x") },
			"the last that": func() { s.client.Set(s.Context(), token, "9223372036854775807", 0) },
		} {
			s.clear()
			spoil()
			s.listen(v)
			s.sits(patience, b)
			s.holds(a, 1)
			got := send(s, s.pass(a, wake, row.Turn{Row: rows, Lease: brief}))
			s.Log(what)
			s.freed(got)
		}
	})
}

// Tokens above 2^53 are not numbers to Lua.
func TestAGreatTokenArrivesWhole(t *testing.T) {
	onStage(t, func(s *stage) {
		if !s.fenced {
			return
		}
		const great = 9_007_199_254_740_993
		require.NoError(s, s.client.Set(s.Context(), token, great-1, 0).Err())
		s.listen(v)
		s.sits(patience, b)
		s.holds(a, 1)
		require.True(s, send(s, s.pass(a, wake, row.Turn{Row: rows, Lease: brief})).Passed)
		messages := s.heard()
		require.Len(s, messages, 1)
		require.Equal(s, strconv.Itoa(great), strings.Fields(messages[0])[3])
		require.EqualValues(s, great, send(s, s.enlist(b, lease, patience)).Token)
	})
}

// full is a server without any memory left, after prepare.
func full(t *testing.T, f form, prepare func(s *stage)) *stage {
	t.Helper()
	s := newStage(t, f, redistest.Process(t))
	prepare(s)
	require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	return s
}

func TestAFullServerAcceptsARelease(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s := full(t, f, func(s *stage) { s.holds(a, 1) })
			turn := row.Turn{Row: rows, Lease: brief, Candidate: u + ":50", Patience: patience}
			s.freed(send(s, s.pass(a, wake, turn)))

			// Those who sat before have it passed: what comes after the first write is not refused.
			require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", "0").Err())
			s.clear()
			s.holds(a, 1)
			s.listen(v)
			s.sits(patience, b)
			require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
			from := s.now()
			got := send(s, s.pass(a, wake, turn))
			s.passedTo(b, got, from, "0")
		})
	}
}

// Where it is not to be passed, whoever sits goes on to do so and hears the message. So it does when the release is executed
// again: that is also how a candidate gives up that was told, and left the row, before.
func TestOneThatIsToBePassedToNobodyIsForEverybody(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		for _, freed := range []bool{true, false} {
			require.Equal(s, row.Release{Freed: freed}, send(s, s.pass(a, wake, row.Turn{Row: rows})))
			require.Equal(s, []string{woken}, s.heard())
			require.EqualValues(s, 1, s.client.ZCard(s.Context(), line).Val())
		}
	})
}

// An owner that wants another lease than a pass gives is told, and asks.
func TestOneThatCannotBePassedTheLockIsTold(t *testing.T) {
	onStage(t, func(s *stage) {
		turn := row.Turn{Row: rows, Lease: brief}
		told := row.Release{Freed: true, Told: true}
		scene := func(ours, outsiders int) {
			s.listen(v, w)
			s.attend(ours, outsiders)
			require.True(s, send(s, s.enlist(a, lease, patience)).Held)
			require.NotZero(s, send(s, s.looks(b, lease, patience)).At)
			require.NotZero(s, send(s, s.looks(c, lease, patience)).At)
		}
		scene(3, 0)
		require.Equal(s, told, send(s, s.pass(a, wake, turn)))
		require.Empty(s, s.hash(), "the lock is free")
		heard := s.heard()
		require.Len(s, heard, 1, "nobody else is told")
		message, ok := row.Read(strings.TrimPrefix(heard[0], line+":"+v+" "))
		require.True(s, ok)
		require.True(s, message.Looks)
		require.Equal(s, b, message.Owner)
		got := send(s, s.looks(b, lease, patience))
		require.True(s, got.Held)
		require.Equal(s, told, send(s, s.pass(b, wake, turn)), "the next is told")
		require.Len(s, s.heard(), 1)
		require.False(s, send(s, s.pass(c, wake, turn)).Freed, "it was told, and gives up")
		require.Empty(s, s.heard(), "nobody is left in the row")
		s.clear()

		scene(3, 0)
		require.Equal(s, told, send(s, s.pass(a, wake, turn)))
		require.Len(s, s.heard(), 1)
		require.False(s, send(s, s.pass(b, wake, turn)).Freed, "it was told, and gives up")
		require.Equal(s, []string{woken}, s.heard(), "others wait, and nobody else knows")
		s.clear()

		scene(3, 0)
		seat := turn
		seat.Candidate, seat.Patience, seat.Looks = u+":50", patience, true
		require.Equal(s, told, send(s, s.pass(a, wake, seat)))
		require.Len(s, s.heard(), 1)
		require.True(s, send(s, s.looks(b, lease, patience)).Held)
		require.Equal(s, told, send(s, s.pass(b, wake, turn)))
		require.True(s, send(s, s.looks(c, lease, patience)).Held)
		s.listen(u)
		s.heard()
		require.Equal(s, told, send(s, s.pass(c, wake, turn)), "the giver's own process is told last")
		message, _ = row.Read(strings.TrimPrefix(s.heard()[0], line+":"+u+" "))
		require.Equal(s, u+":50", message.Owner)
		s.clear()

		scene(3, 1)
		require.Equal(s, told, send(s, s.pass(a, wake, turn)))
		require.ElementsMatch(s, []string{woken, "b"}, named(s.heard()), "an outsider waits too")
	})
}

// named says what a message is instead of when.
func named(messages []string) (names []string) {
	for _, m := range messages {
		if p, ok := row.Read(strings.TrimPrefix(m, line+":"+v+" ")); ok && p.Looks && p.Owner == b {
			m = "b"
		}
		names = append(names, m)
	}
	return names
}
