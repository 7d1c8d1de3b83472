package redlatch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// label is the form of a word that metrics, logs and JSON can have without quoting.
const label = `^[a-z]+(_[a-z]+)*$`

func TestAKindIsALabelAndHasANoun(t *testing.T) {
	var said string
	for kind, noun := range map[redlatch.Kind]string{
		redlatch.KindLock: "lock", redlatch.KindFairLock: "fair lock", redlatch.KindFencedLock: "fenced lock", redlatch.KindSpinLock: "spin lock",
		redlatch.KindReadWriteLock: "read-write lock", redlatch.KindReadLock: "read lock", redlatch.KindWriteLock: "write lock",
		redlatch.KindGroupLock: "group lock", redlatch.KindMultiLock: "multi-lock", redlatch.KindRedlock: "redlock",
		redlatch.KindSemaphore: "semaphore", redlatch.KindPermitSemaphore: "permit semaphore", redlatch.KindLatch: "latch",
		redlatch.KindGuard: "guard",
	} {
		require.Regexp(t, label, kind)
		require.Zero(t, testing.AllocsPerRun(10, func() { said = kind.Noun() }))
		require.Equal(t, noun, said)
		require.Equal(t, string(kind), strings.NewReplacer(" ", "_", "-", "_").Replace(noun))
	}
	require.Equal(t, "kind of a later version", redlatch.Kind("kind_of_a_later_version").Noun())
}

func TestAReasonIsALabel(t *testing.T) {
	for _, reason := range []redlatch.LossReason{
		redlatch.ReasonTaken, redlatch.ReasonUnanswered, redlatch.ReasonLeaseOver, redlatch.ReasonLimitOver, redlatch.ReasonMembers,
		redlatch.ReasonForgotten,
	} {
		require.Regexp(t, label, reason)
	}
}
