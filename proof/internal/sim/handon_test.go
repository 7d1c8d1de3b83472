package sim_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// The judge has the figures of the promise. A process relies on its news for as long as that at most, where the network is as slow as
// that of the simulation can be.
func TestTheJudgeExcusesHandOffsForAsLongAsAProcessMakesThem(t *testing.T) {
	news := time.Now()
	for trip := time.Duration(0); trip <= sim.Trip; trip += sim.Trip / 100 {
		s := cohort.Streak{Began: news, News: news, Blur: cohort.Blurred, Trip: trip, Alone: true}
		if fresh := history.Time(s.FreshFor(news)); fresh > sim.Terms.HandOn || trip == sim.Trip && fresh < sim.Terms.HandOn {
			t.Errorf("with a round trip of %v a process relies on its news for %v, and the judge excuses %v", trip, time.Duration(fresh), time.Duration(sim.Terms.HandOn))
		}
	}
}
