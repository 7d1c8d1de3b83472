package observe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A busy program has very many calls in the time after which one of them is slow, and a timer that runs keeps its call in memory.
func TestTheTimerOfWhatHasEndedIsStopped(t *testing.T) {
	a := (&alarm{}).after(t.Context(), time.Hour)
	a.stop()
	require.False(t, a.timer.Stop(), "it still ran")
}
