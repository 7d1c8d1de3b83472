package reporter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheEntryIsRemovedAtLinger(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.pass(2 * time.Second)
		k.free("a")
		k.pass(time.Hour)
		require.Equal(t, seconds(9), k.removed, "three seconds after the first look that found nothing")
		require.Len(t, k.sent, 1)
		looks := k.looks
		k.hold("a")
		k.pass(time.Second)
		require.Greater(t, k.looks, looks)
		require.True(t, k.sent[1].Whole)
	})
}

func TestAnEntryOfAProgramThatTakesAgainWithinLingerStays(t *testing.T) {
	bubble(t, func(k *kit) {
		for range 20 {
			k.hold("a")
			k.pass(4 * time.Second)
			k.free("a")
			k.pass(time.Second)
		}
		require.Empty(t, k.removed)
		k.pass(time.Hour)
		require.Len(t, k.removed, 1)
	})
}

func TestAnEntryThatCannotBeRemovedIsTriedThreeTimes(t *testing.T) {
	bubble(t, func(k *kit) {
		k.stuck = true
		for range 2 {
			k.hold("a")
			k.pass(2 * time.Second)
			k.free("a")
			k.pass(time.Hour)
		}
		require.Equal(t, seconds(9, 14, 19, 3611, 3616, 3621), k.removed)
		looks := k.looks
		k.pass(time.Hour)
		require.Equal(t, looks, k.looks, "it is at rest")
	})
}

func TestAnEntryThatCouldNotBeRemovedIsWrittenAnewWhenSomethingIsHeld(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hold("a")
		k.pass(2 * time.Second)
		k.free("a")
		k.stuck = true
		k.pass(8 * time.Second)
		require.Len(t, k.removed, 1)
		k.hold("b")
		k.pass(5 * time.Second)
		require.Len(t, k.sent, 2)
		require.True(t, k.sent[1].Whole, "it may have been removed")
		k.free("b")
		k.pass(time.Hour)
		require.Len(t, k.removed, 1+3)
	})
}

// It may have been written nevertheless.
func TestAnEntryWhoseFirstReportHadNoAnswerIsRemovedToo(t *testing.T) {
	bubble(t, func(k *kit) {
		k.answer = func(Message) Answer { return Answer{} }
		k.hold("a")
		k.pass(time.Second)
		k.free("a")
		k.pass(time.Hour)
		require.Len(t, k.removed, 1)
	})
}
