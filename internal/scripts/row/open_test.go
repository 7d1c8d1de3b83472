package row_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/row"
)

// enough is a turn after which others are to have the lock, if there are any.
func enough(listens bool) row.Turn {
	return row.Turn{Row: line, Lease: brief, Shut: 30 * time.Millisecond, Open: time.Minute, Listens: listens}
}

// attend has so many more processes listen for releases.
func (s *stage) attend(n int) {
	s.Helper()
	for range n {
		ear := s.client.Subscribe(s.Context(), channel)
		s.Cleanup(func() { _ = ear.Close() })
		_, err := ear.ReceiveTimeout(s.Context(), 30*time.Second)
		require.NoError(s, err)
	}
}

func TestWhereOnlyTheRowListensItIsPassedOn(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(2) // the giver's process and that of the row
		require.True(s, send(s, s.enlist(a, lease, patience)).Held)
		send(s, s.enlist(b, lease, patience))
		from := s.now()
		s.passedTo(b, send(s, s.pass(a, wake, enough(true))), from, "30")
	})
}

func TestTheGiverOwnSeatIsNotAnOutsider(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(2)
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		send(s, s.enlist(c, lease, patience)) // of the giver's process
		turn := enough(true)
		turn.Seat, turn.Patience = c, patience
		require.True(s, send(s, s.pass(a, wake, turn)).Passed)
	})
}

func TestASeatThatTheGiverHasNotTakenYetIsNotAnothers(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(2) // the giver's process and that of the row
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		turn := enough(true)
		turn.Seat, turn.Patience = c, patience
		require.True(s, send(s, s.pass(a, wake, turn)).Passed)
	})
}

func TestWhereOthersListenTheLockIsFreeForThemOnly(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(3)
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		send(s, s.enlist(c, lease, patience)) // of the giver's process, which listens once
		turn := enough(true)
		turn.Seat, turn.Patience = c, patience
		require.Equal(s, row.Release{Freed: true, Open: true}, send(s, s.pass(a, wake, turn)))
		require.Empty(s, s.hash())
		require.Equal(s, []string{woken}, s.heard())
		for _, owner := range []string{b, c} { // they keep their seats
			got := send(s, s.enlist(owner, lease, patience))
			require.False(s, got.Held)
			require.True(s, got.Open)
			require.NotZero(s, got.At)
			require.Greater(s, got.Remaining, 30*time.Second)
			require.LessOrEqual(s, got.Remaining, time.Minute)
		}
		require.NoError(s, s.client.Del(s.Context(), open).Err()) // its time is over
		require.True(s, send(s, s.enlist(c, lease, patience)).Held)
	})
}

func TestAClockThatIsSetBackLeavesTheLockToOthersForNoLonger(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(3)
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		require.True(s, send(s, s.pass(a, wake, enough(true))).Open)
		require.NoError(s, s.client.PExpire(s.Context(), open, time.Hour).Err()) // as it looks then
		require.True(s, send(s, s.enlist(b, lease, patience)).Held)
	})
}
