package judge

import (
	"fmt"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// earlyLatch: no wait for a latch ends well before as many had begun to count down as the latch was set to.
func earlyLatch(_ *history.History, t *history.Thing, _ Terms) (findings []string, _ int) {
	for _, a := range t.Grants(history.Await) {
		begun := int64(0)
		for _, c := range t.Acts {
			if c.Mode == history.CountDown && c.Called <= a.Back {
				begun++
			}
		}
		if begun < t.N {
			findings = append(findings, fmt.Sprintf("the wait of %v ended well when %d of %d had begun to count down", a, begun, t.N))
		}
	}
	return findings, 0
}
