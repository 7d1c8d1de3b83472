package row_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

const n = u + ":60" // the next waiter of a's process

// keeping is what a release says at the end of a streak, with the next waiter of its own process.
func keeping() row.Turn {
	return row.Turn{
		Row: rows, Lease: brief, Token: 7, Shut: 3 * time.Millisecond, Candidate: u + ":50", Patience: patience, Next: n, NextLease: lease, Block: 4,
	}
}

// kept is the answer to keeping where the next waiter holds.
func (f form) kept(first, spare int64) row.Release {
	if !f.fenced {
		first, spare = 0, 0
	}
	return row.Release{Freed: true, Kept: scripts.Attempt{Held: true, Token: first, Spare: spare}}
}

func TestWhereNobodyElseWaitsTheNextOfTheSameProcessHolds(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			turn, kept := keeping(), f.kept(8, 3)
			late := keeping()
			late.Token = 40 // the counter, at 7, is another one since
			mine := func() State { return with(f.issued("11"), State{key: {Value: Hash{n: "1"}, TTL: lease}}) }
			sit := func(owner string) State {
				return State{line: {Value: Scores{owner: 1_795_000_000_000_000}, TTL: long}, alive: {Value: Deadlines{owner: time.Minute}, TTL: long}}
			}
			Table(t, []Row{
				{Name: "It holds once, with its whole lease; a second execution answers the same, and nobody is told",
					Before: f.held(brief, Hash{a: "3"}), Call: Answers(f.pass(a, wake, turn), kept), After: mine()},
				{Name: "whatever the seat of its own process",
					Before: with(f.held(brief, Hash{a: "1"}), sit(turn.Candidate)), Call: Answers(f.pass(a, wake, turn), kept), After: mine()},
				{Name: "and whoever is not there any more",
					Before: with(f.held(brief, Hash{a: "1"}), sit(b)), Call: Answers(f.pass(a, wake, turn), kept), After: mine()},
				{Name: "The tokens are above those of the giver where the counter was lost",
					Before: with(f.issued("2"), State{key: {Value: Hash{a: "1"}, TTL: brief}}), Call: Answers(f.pass(a, wake, late), f.kept(41, 3)),
					After: with(f.issued("44"), State{key: {Value: Hash{n: "1"}, TTL: lease}})},
				{Name: "An execution that comes late finds the giver gone, and does nothing",
					Before: f.held(lease, Hash{b: "1"}), Call: Answers(f.pass(a, wake, turn), row.Release{})},
				{Name: "also when the lock is free", Before: f.free(), Call: Answers(f.pass(a, wake, turn), row.Release{})},
				{Name: "A key that is no lock is refused",
					Before: with(f.free(), State{key: {Value: "7", TTL: lease}}), Call: Fails(f.pass(a, wake, turn), "WRONGTYPE")},
			})
		})
	}
}

func TestAnotherProcessComesBeforeTheNextOfTheSame(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(u, v)
		s.sits(patience, b)
		s.holds(a, 1)
		require.NoError(s, s.client.Set(s.Context(), token, 7, 0).Err())
		from := s.now()
		cmd := s.pass(a, wake, keeping())
		s.passedTo(b, send(s, cmd), from, "3")
		require.Equal(s, []string{keeping().Candidate}, s.row())
		require.Equal(s, row.Release{}, send(s, cmd), "again")
		require.Equal(s, map[string]string{b: "1"}, s.hash())
	})
}

// A waiter that only polls listens to nothing: the time is also for it, and the row leaves it to it.
func TestALockIsLeftFreeForThoseWhoOnlyPoll(t *testing.T) {
	onStage(t, func(s *stage) {
		for range 9 { // none of them is longer: who asks without a pause needs no more
			s.client.Del(s.Context(), key, open)
			s.holds(a, 1)
			turn := keeping()
			turn.Shut, turn.Open, turn.Whoever = 250*time.Millisecond, time.Minute, true
			require.Equal(s, row.Release{Freed: true, Open: true}, send(s, s.pass(a, wake, turn)))
			require.Empty(s, s.hash())
			require.Equal(s, []string{woken}, s.heard())
			sitting := send(s, s.enlist(b, lease, patience))
			require.True(s, sitting.Open)
			require.NotZero(s, sitting.Remaining)
			require.Empty(s, s.hash())
		}
		s.client.Del(s.Context(), open)
		require.True(s, send(s, s.enlist(b, lease, patience)).Held)
	})
}

func TestAFullServerKeepsTheLockInItsProcess(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s := full(t, f, func(s *stage) { s.holds(a, 1); s.client.Set(s.Context(), token, 7, 0) })
			got := send(s, s.pass(a, wake, keeping()))
			require.Equal(t, f.kept(8, 3), got)
			require.Equal(t, map[string]string{n: "1"}, s.hash())
		})
	}
}

// What a user may not do for the row has the lock set free: it cannot be known whether others wait.
func TestWhoMayNotLookAtTheRowKeepsNothing(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s := newStage(t, f, redistest.Process(t))
			for _, limits := range [][]string{{"-zpopmin"}, {"resetkeys", "~" + key, "~" + token}} {
				s.clear()
				client := s.srv.User(t, limits...)
				s.holds(a, 1)
				got, err := Send(t.Context(), client, f.pass(a, wake, keeping()))
				require.NoError(t, err, "%v", limits)
				s.freed(got)
				require.NoError(t, client.Close())
			}
		})
	}
}

// A send without the keys of the row follows one with them that may have been executed.
func TestWithoutItsKeysWhatWasKeptIsSetFree(t *testing.T) {
	onStage(t, func(s *stage) {
		require.NoError(s, s.client.Set(s.Context(), token, 7, 0).Err())
		cmd := s.pass(a, wake, keeping())
		for range 2 {
			s.holds(a, 1)
			s.freed(send(s, narrow(s, cmd)))
			require.Equal(s, row.Release{}, send(s, cmd), "late")
			s.holds(a, 1)
			require.True(s, send(s, cmd).Kept.Held)
			s.freed(send(s, narrow(s, cmd)))
			require.Equal(s, row.Release{}, send(s, narrow(s, cmd)), "a repetition")
		}
	})
}
