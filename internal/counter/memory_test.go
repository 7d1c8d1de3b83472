package counter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// The server's memory is as old as the number of the operation, which may have been drawn long before it could be sent.
func TestNothingIsSentAgainThatCouldNotBeSentForLongAndMayBeForgottenSoon(t *testing.T) {
	giveBack := func(l *lab) error { _, err := l.giveBack(2); return err }
	for name, run := range map[string]struct {
		patience time.Duration
		do       func(l *lab) error
		want     string
	}{
		"release":                   {5 * time.Minute, giveBack, "8"},
		"release in the background": {118 * time.Second, giveBack, "8"},
		"change":                    {5 * time.Minute, func(l *lab) error { _, err := l.add(2); return err }, "8"},
		"acquire, and it is undone": {5 * time.Minute, func(l *lab) error { return l.acquire(2) }, "6"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				_, err := l.giveBack(1) // begins the lifetime of what is remembered
				require.NoError(t, err)
				time.Sleep(29 * time.Second)
				l.faults.refused.Store(true)
				time.AfterFunc(116*time.Second, func() { l.faults.lost.Store(true); l.faults.refused.Store(false) })
				time.AfterFunc(125*time.Second, func() { l.faults.lost.Store(false) })
				require.ErrorIs(t, run.do(l), errLost)
				time.Sleep(10 * time.Minute)
				l.has(run.want)
				l.settledOnce()
			}, redlatch.WithOutage(run.patience), redlatch.WithReleaseTimeout(run.patience))
		})
	}
}
