package row_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// enough is a turn after which others are to have the lock, if there are any.
func enough() row.Turn {
	return row.Turn{Row: rows, Lease: brief, Shut: 30 * time.Millisecond, Open: time.Minute}
}

// attend has so many more processes listen for releases: of this library, or outsiders.
func (s *stage) attend(ours, outsiders int) {
	s.Helper()
	for i := range ours + outsiders {
		channels := []string{channel}
		if i < ours {
			channels = append(channels, row.Known(line))
		}
		ear := s.client.Subscribe(s.Context(), channels...)
		s.Cleanup(func() { _ = ear.Close() })
		for range channels {
			_, err := ear.ReceiveTimeout(s.Context(), 30*time.Second)
			require.NoError(s, err)
		}
	}
}

func TestWhereOnlyTheRowListensItIsPassedOn(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(2, 0) // the giver's process and that of the row
		require.True(s, send(s, s.enlist(a, lease, patience)).Held)
		send(s, s.enlist(b, lease, patience))
		from := s.now()
		s.passedTo(b, send(s, s.pass(a, wake, enough())), from, "30")
	})
}

func TestAProcessThatWaitsInNoRowYetIsNoOutsider(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(3, 0)
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		require.True(s, send(s, s.pass(a, wake, enough())).Passed)
	})
}

func TestWhereOthersListenTheLockIsFreeForThemOnly(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(2, 1)
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		send(s, s.enlist(c, lease, patience)) // of the giver's process, which listens once
		turn := enough()
		turn.Candidate, turn.Patience = c, patience
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

func TestTheLockIsForEverybodyOnceNoOutsiderListensAnyMore(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(2, 0)
		outsider := s.client.Subscribe(s.Context(), channel)
		_, err := outsider.Receive(s.Context())
		require.NoError(s, err)
		listeners := s.client.PubSubNumSub(s.Context(), channel).Val()[channel]
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		require.True(s, send(s, s.pass(a, wake, enough())).Open)
		require.True(s, send(s, s.enlist(b, lease, patience)).Open)
		require.NoError(s, outsider.Close())
		redistest.Eventually(s, "the server has noticed it", func() bool {
			return s.client.PubSubNumSub(s.Context(), channel).Val()[channel] < listeners
		})
		require.True(s, send(s, s.enlist(b, lease, patience)).Held)
	})
}

// An outsider that is too slow for the first seven has its turn with the eighth.
func TestEveryEighthTimeInARowIsEightTimesAsLong(t *testing.T) {
	onStage(t, func(s *stage) {
		s.attend(2, 1)
		for i := range 16 {
			require.True(s, send(s, s.enlist(a, lease, patience)).Held)
			got := send(s, s.pass(a, wake, enough()))
			require.Equal(s, row.Release{Freed: true, Open: true, Longer: (i+1)%8 == 0}, got, i)
			require.Equal(s, got.Longer, s.client.PTTL(s.Context(), open).Val() > time.Minute)
			require.NoError(s, s.client.PExpire(s.Context(), windows, time.Minute).Err())
			require.NoError(s, s.client.Del(s.Context(), open).Err()) // its time is over
		}
		// After a second without, it begins anew.
		require.NoError(s, s.client.Del(s.Context(), windows).Err())
		require.True(s, send(s, s.enlist(a, lease, patience)).Held)
		require.False(s, send(s, s.pass(a, wake, enough())).Longer)
		require.Positive(s, s.client.PTTL(s.Context(), windows).Val())
	})
}

// A composite does not know for how long each of its locks has gone round.
func TestWhereItIsNotKnownForHowLongTheLockHasGoneRoundItIsLeftToOthersWithPauses(t *testing.T) {
	onStage(t, func(s *stage) {
		s.attend(1, 1)
		turn := enough()
		turn.Shut = 0
		release := func() row.Release {
			require.True(s, send(s, s.enlist(a, lease, patience)).Held)
			got := send(s, s.pass(a, wake, turn))
			require.True(s, got.Freed)
			require.NoError(s, s.client.Del(s.Context(), open).Err()) // its time is over
			return got
		}
		require.True(s, release().Open)
		require.NoError(s, s.client.PExpire(s.Context(), windows, time.Minute).Err()) // as it looks at once
		require.False(s, release().Open)
		paused := false
		for range 20 { // a busy machine may take longer than the pause for one try
			require.NoError(s, s.client.PExpire(s.Context(), windows, 999*time.Millisecond).Err())
			paused = paused || !release().Open
		}
		require.True(s, paused)
		require.NoError(s, s.client.PExpire(s.Context(), windows, 940*time.Millisecond).Err()) // and after 60 ms
		require.True(s, release().Open)
	})
}

func TestAClockThatIsSetBackLeavesTheLockToOthersForNoLonger(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.attend(2, 1)
		send(s, s.enlist(a, lease, patience))
		send(s, s.enlist(b, lease, patience))
		require.True(s, send(s, s.pass(a, wake, enough())).Open)
		require.NoError(s, s.client.PExpire(s.Context(), open, time.Hour).Err()) // as it looks then
		require.True(s, send(s, s.enlist(b, lease, patience)).Held)
	})
}
