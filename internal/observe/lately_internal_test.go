package observe

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A process that has had alarms of very many names keeps those of the last minute alone, and still has them.
func TestTopicsArePrunedAndFreshOnesSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recent
		note := func(from, to int) {
			for i := from; i < to; i++ {
				require.Zero(t, r.turn(topic{name: fmt.Sprint(i)}, time.Now()))
			}
		}
		note(0, 1000)
		time.Sleep(pause / 2)
		note(1000, 1010)
		time.Sleep(pause / 2)
		note(2000, 5000)
		require.Less(t, len(r.at), 4000, "the first thousand are gone")
		for i := 1000; i < 1010; i++ {
			require.Equal(t, pause/2, r.turn(topic{name: fmt.Sprint(i)}, time.Now()), "%d had its alarm half a minute ago", i)
		}
		for i := 2000; i < 5000; i++ {
			require.Equal(t, pause, r.turn(topic{name: fmt.Sprint(i)}, time.Now()))
		}
		time.Sleep(pause)
		require.Zero(t, r.turn(topic{name: "1000"}, time.Now()))
	})
}
