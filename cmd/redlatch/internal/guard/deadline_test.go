//go:build unix

package guard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/guard"
)

// docs/command.md has these figures, with a lease of 30 s, trusted up to a hundredth before its end.
func TestTheEndBeginsInTimeForTheTrust(t *testing.T) {
	d := guard.Deadline{KillAfter: 5 * time.Second, Slack: guard.Slack(30 * time.Second)}
	d.Trust(29_700 * time.Millisecond)
	require.False(t, d.Over(24_099*time.Millisecond))
	require.True(t, d.Over(24_100*time.Millisecond))
	require.True(t, d.End(24_100*time.Millisecond))
	require.False(t, d.Kill(29_099*time.Millisecond))
	require.True(t, d.Kill(29_100*time.Millisecond))
	require.False(t, d.Late(29_699*time.Millisecond))
	require.True(t, d.Late(29_700*time.Millisecond))
}

func TestThereIsNoWayBack(t *testing.T) {
	d := guard.Deadline{KillAfter: time.Second, Slack: time.Second}
	d.Trust(10 * time.Second)
	require.True(t, d.End(time.Second))
	require.False(t, d.End(2*time.Second), "it began before")
	d.Trust(time.Hour)
	require.True(t, d.Over(0))
	require.False(t, d.Kill(1999*time.Millisecond))
	require.True(t, d.Kill(2*time.Second), "a second after the end began")
}

// On a machine with a load of 37 one of 10 000 pairs of readings was up to 344 ms apart, and the trust ended so much earlier.
func TestTheTrustDoesNotMoveBack(t *testing.T) {
	d := guard.Deadline{KillAfter: time.Second, Slack: time.Second}
	d.Trust(10 * time.Second)
	d.Trust(2 * time.Second)
	require.False(t, d.Over(7999*time.Millisecond))
	d.Trust(11 * time.Second)
	require.Equal(t, 11*time.Second, d.Until())
}

// An end that begins late, as when the process was stopped, leaves no time for SIGTERM.
func TestALateEndKillsAtOnce(t *testing.T) {
	d := guard.Deadline{KillAfter: time.Second, Slack: time.Second}
	d.Trust(10 * time.Second)
	require.True(t, d.End(20*time.Second))
	require.True(t, d.Kill(20*time.Second))
}

// Go's timers stand still while the machine is suspended, so the clock is looked at often.
func TestTheClockIsLookedAtOften(t *testing.T) {
	d := guard.Deadline{KillAfter: time.Second, Slack: time.Second}
	d.Trust(time.Hour)
	require.Equal(t, 250*time.Millisecond, d.Sleep(0))
	require.Equal(t, 100*time.Millisecond, d.Sleep(time.Hour-2100*time.Millisecond))
	require.Zero(t, d.Sleep(time.Hour))
	d.End(0)
	require.Equal(t, guard.Again, d.Sleep(time.Minute))
}
