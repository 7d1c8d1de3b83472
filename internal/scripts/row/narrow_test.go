package row_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

// narrow is the command without the keys of the row, as it is sent while a slot moves.
func narrow[R any](s *stage, cmd scripts.Command[R]) scripts.Command[R] {
	s.Helper()
	narrow, ok := cmd.Narrow(true)
	require.True(s, ok)
	return narrow
}

func TestWithoutItsKeysTheRowIsLeftAloneAndEveryoneIsTold(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listen(v)
		s.sits(patience, b)
		s.holds(a, 1)
		before := s.row()
		refused := send(s, narrow(s, s.enlist(c, lease, patience)))
		require.False(s, refused.Held)
		require.Zero(s, refused.At, "it does not sit")
		require.Positive(s, refused.Remaining)

		turn := row.Turn{Row: rows, Lease: brief, Candidate: u + ":50", Patience: patience}
		require.Equal(s, row.Release{Freed: true}, send(s, narrow(s, s.pass(a, wake, turn))))
		require.Equal(s, row.Release{}, send(s, narrow(s, s.pass(a, wake, turn))), "a repetition")
		require.Equal(s, []string{woken}, s.heard())

		held := send(s, narrow(s, s.enlist(c, lease, patience)))
		require.True(s, held.Held)
		require.Equal(s, held, send(s, narrow(s, s.enlist(c, lease, patience))), "a repetition")
		require.Equal(s, before, s.row())

		turn.Shut, turn.Open = time.Second, time.Minute
		require.Equal(s, row.Release{Freed: true, Open: true}, send(s, narrow(s, s.pass(c, wake, turn))), "its process yields all the same")
		require.Zero(s, s.client.Exists(s.Context(), open, windows).Val())
	})
}

// A release of an owner that has given out no tokens of its own need not see the counter.
func TestWhatIsNeededOfTheKeysOfAFencedLock(t *testing.T) {
	onStage(t, func(s *stage) {
		if !s.fenced {
			return
		}
		for last, keys := range map[int64]int{0: 1, 7: 2} {
			args := narrow(s, s.pass(a, wake, row.Turn{Row: rows, Token: last})).Cmder(s.Context(), false).Args()
			require.Equal(s, keys, args[2])
		}
		s.holds(a, 1)
		require.NoError(s, s.client.Set(s.Context(), token, "3", 0).Err())
		got, err := statetest.Send(s.Context(), s.client, narrow(s, s.pass(a, wake, row.Turn{Row: rows, Token: 7})))
		require.NoError(s, err)
		require.True(s, got.Freed)
		require.Equal(s, "7", s.client.Get(s.Context(), token).Val())
	})
}
