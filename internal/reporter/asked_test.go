package reporter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhoIsAskedMayBlockAndTheNextReportComesAllTheSame(t *testing.T) {
	bubble(t, func(k *kit) {
		k.hang = make(chan struct{})
		k.answer = func(Message) Answer { return Answer{Outcome: Written, Entries: 1, Asked: []string{"u:1", "u:2"}} }
		k.hold("a")
		k.pass(2 * time.Second)
		k.answer = func(Message) Answer { return Answer{Outcome: Written, Entries: 1} }
		k.pass(10 * time.Second)
		require.Equal(t, []string{"u:1 u:2"}, k.asked, "nobody is asked by the later ones")
		require.Len(t, k.sent, 3)
		close(k.hang)
		k.free("a")
		k.pass(time.Minute)
	})
}
