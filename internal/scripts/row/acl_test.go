package row_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// A user who may not do what only the row needs has a lock without one. Most such users were made before there was a
// row; that some of its commands are permitted and others are not is an accident that must do no harm either.
func TestWhatAUserMayNotDoForTheRowCostsNobodyTheLock(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s := newStage(t, f, redistest.Process(t))
			for _, limits := range [][]string{
				{"-time"}, {"-zadd"}, {"-zpopmin"}, {"-zscore"}, {"-zrem"}, {"-pubsub"},
				{"-time", "-zadd", "-zpopmin", "-zscore", "-zrem", "-pubsub"},
				{"resetchannels", "&" + channel},
				{"resetkeys", "~" + key, "~" + token},
				{"resetkeys", "~" + key, "~" + token, "~" + line},
				{"resetkeys", "~" + key, "~" + token, "~" + alive},
			} {
				for _, seat := range []string{"", u + ":50"} {
					s.clear()
					client := s.srv.User(t, limits...)
					s.listen(v)
					s.sits(patience, b)
					s.holds(a, 1)
					refused, err := Send(t.Context(), client, f.enlist(c, lease, patience))
					require.NoError(t, err, "%v", limits)
					require.False(t, refused.Held)
					turn := row.Turn{Row: rows, Lease: brief, Candidate: seat, Patience: patience}
					got, err := Send(t.Context(), client, f.pass(a, wake, turn))
					require.NoError(t, err, "%v", limits)
					messages := s.heard()
					require.Len(t, messages, 1, "%v", limits)
					if got.Passed {
						require.Equal(t, map[string]string{b: "1"}, s.hash(), "%v", limits)
						require.NotEqual(t, woken, messages[0])
						continue
					}
					require.Equal(t, free, got, "%v", limits)
					require.Empty(t, s.hash(), "%v", limits)
					require.Equal(t, woken, messages[0], "%v", limits)
					taken, err := Send(t.Context(), client, f.enlist(c, lease, patience))
					require.NoError(t, err, "%v", limits)
					require.True(t, taken.Held)
					require.NoError(t, client.Close())
				}
			}
		})
	}
}

// Where it cannot be told who listens, others are taken to be there.
func TestAUserWhoMayNotCountSetsTheLockFree(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s := newStage(t, f, redistest.Process(t))
			s.attend(2, 1) // the giver's process, that of the row, and another
			for _, limits := range [][]string{
				{"-pubsub"}, {"-zscore"}, {"-set"},
				{"resetkeys", "~" + key, "~" + token},
				{"resetkeys", "~" + key, "~" + token, "~" + line, "~" + alive},
			} {
				s.clear()
				client := s.srv.User(t, limits...)
				s.listen(v)
				s.sits(patience, b)
				s.holds(a, 1)
				turn := enough()
				turn.Candidate, turn.Patience = u+":50", patience
				got, err := Send(t.Context(), client, f.pass(a, wake, turn))
				require.NoError(t, err, "%v", limits)
				require.Equal(t, row.Release{Freed: true, Open: true}, got, "%v", limits)
				require.Empty(t, s.hash(), "%v", limits)
				require.Equal(t, []string{woken}, s.heard(), "%v", limits)
				require.NoError(t, client.Close())
			}
		})
	}
}
