package reporter

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/registry"
)

// The servers together have a thousand commands a second then, however many clients there are.
func TestAHundredThousandClientsSendAThousandReportsASecond(t *testing.T) {
	const clients = 100_000
	bubble(t, func(k *kit) {
		k.answer = func(Message) Answer {
			return Answer{Outcome: Written, Entries: (clients + registry.Buckets - 1) / registry.Buckets}
		}
		k.hold("a")
		const hour = 3600
		k.pass(hour * time.Second)
		rate := float64(len(k.sent)-1) * clients / hour
		t.Logf("%d clients send %.0f reports a second", clients, rate)
		require.LessOrEqual(t, rate, 1000.0)
		require.Greater(t, rate, 900.0)
	})
}

// As after a restart of all of them while the server loads.
func TestAHundredThousandClientsThatAreRefusedSendAThousandReportsASecond(t *testing.T) {
	const clients = 100_000
	bubble(t, func(k *kit) {
		k.answer = func(Message) Answer { return Answer{} }
		k.hold("a")
		k.pass(time.Hour)
		require.Equal(t, seconds(1, 6, 16, 36, 76, 156, 276), k.at[:7])
		late := float64(len(k.at)-7) * clients / (time.Hour - k.at[6]).Seconds()
		t.Logf("%d clients send %.0f reports a second", clients, late)
		require.LessOrEqual(t, late, 1000.0)

		k.answer = func(Message) Answer { return Answer{Outcome: Written, Entries: 1} }
		k.pass(2 * time.Minute)
		written := len(k.at)
		k.answer = func(Message) Answer { return Answer{} }
		k.pass(time.Minute)
		require.Len(t, k.at, written+12, "this client knows that there are few")
	})
}

// What an index says may be forged. An owner who is asked for what it holds finds out with its next report.
func TestNoForgedIndexKeepsAClientFromReportingForLongerThanTwoMinutes(t *testing.T) {
	for _, watched := range []bool{false, true} {
		bubble(t, func(k *kit) {
			k.answer = func(Message) Answer { return Answer{Outcome: Written, Entries: math.MaxInt64, Watched: watched} }
			k.hold("a")
			k.pass(time.Hour)
			for i := range k.at[1:] {
				require.LessOrEqual(t, k.at[i+1]-k.at[i], 2*time.Minute*12/10)
			}
			require.Greater(t, len(k.at), 20)
		})
	}
}

func TestTheIntervalDiffersByATenthAtMost(t *testing.T) {
	for below, want := range map[int64]time.Duration{0: 4500 * time.Millisecond, 1<<63 - 1: 5500*time.Millisecond - 1} {
		restore := jitter.Replace(func(n int64) int64 { return min(n-1, below) })
		require.Equal(t, want, (&Reporter{entries: 70}).interval())
		restore()
	}
}
