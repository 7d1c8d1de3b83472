package reporter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/registry"
)

// looking has the answers say from one moment to another that somebody looks.
func (k *kit) looking(from, to time.Duration) {
	k.answer = func(Message) Answer {
		now := time.Since(k.start)
		return Answer{Outcome: Written, Entries: 1, Watched: from <= now && now < to}
	}
}

func TestWhileSomebodyLooksAReportIsSentEverySecond(t *testing.T) {
	bubble(t, func(k *kit) {
		k.looking(7*time.Second, 10*time.Second)
		k.hold("a")
		k.pass(25 * time.Second)
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		// Without jitter, which is half of a fifth here.
		require.Equal(t, []time.Duration{ms(1000), ms(6000), ms(11000), ms(16000), ms(21000)}, k.at, "the look began and ended between two reports")
		k.sent, k.at = nil, nil
		k.looking(0, 30*time.Second)
		k.pass(10 * time.Second)
		require.Equal(t, []time.Duration{ms(26000), ms(27100), ms(28200), ms(29300), ms(30400)}, k.at)
		for _, m := range k.sent {
			require.False(t, m.Whole)
			require.Empty(t, m.Things, "what has not changed is not sent again")
		}
	})
}

func TestNoMoreThanOneReportASecondIsSentWhateverTheJitter(t *testing.T) {
	for below, want := range map[int64]time.Duration{0: time.Second, 1<<63 - 1: 1200*time.Millisecond - 1} {
		restore := jitter.Replace(func(n int64) int64 { return min(n-1, below) })
		require.Equal(t, want, (&Reporter{entries: 15, watched: true}).due())
		restore()
	}
}

func TestAClientThatHoldsAndWaitsForNothingSendsNothingWhoeverLooks(t *testing.T) {
	bubble(t, func(k *kit) {
		k.linger = time.Hour
		k.looking(0, time.Hour)
		k.hold("a")
		k.pass(5 * time.Second)
		k.free("a")
		k.pass(2 * time.Second)
		sent := len(k.sent)
		k.pass(30 * time.Minute)
		require.Len(t, k.sent, sent)
		k.pass(2 * time.Hour)
		require.Len(t, k.removed, 1)
	})
}

// A removal that fails is tried again when a failover may be over.
func TestAnEntryIsRemovedByTriesAnIntervalApartWhoeverLooks(t *testing.T) {
	bubble(t, func(k *kit) {
		k.looking(0, time.Hour)
		k.hold("a")
		k.pass(time.Second)
		k.stuck = true
		k.free("a")
		k.pass(time.Minute)
		require.Len(t, k.removed, 3)
		require.Equal(t, 10*time.Second, k.removed[2]-k.removed[0])
	})
}

func TestAHundredThousandClientsSendNoMoreThanAThousandReportsASecondWhileSomebodyLooks(t *testing.T) {
	const clients = 100_000
	bubble(t, func(k *kit) {
		k.answer = func(Message) Answer {
			return Answer{Outcome: Written, Watched: true, Entries: (clients + registry.Buckets - 1) / registry.Buckets}
		}
		k.hold("a")
		const hour = 3600
		k.pass(hour * time.Second)
		rate := float64(len(k.sent)-1) * clients / hour
		require.LessOrEqual(t, rate, 1000.0)
		require.Greater(t, rate, 800.0)
	})
}
