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
		left := func(i int) time.Duration {
			left, _ := r.turn(topic{source{client: i % 100}, "lock", fmt.Sprint(i)}, nil)
			return left
		}
		note := func(from, to int) {
			for i := from; i < to; i++ {
				require.Zero(t, left(i))
			}
		}
		note(0, 1000)
		time.Sleep(pause / 2)
		note(1000, 1010)
		time.Sleep(pause / 2)
		note(2000, 5000)
		require.Less(t, len(r.at), 4000, "the first thousand are gone")
		for i := 1000; i < 1010; i++ {
			require.Equal(t, pause/2, left(i), "%d had its alarm half a minute ago", i)
		}
		for i := 2000; i < 5000; i++ {
			require.Equal(t, pause, left(i))
		}
		time.Sleep(pause)
		require.Zero(t, left(1000))
	})
}

// The same of clients, of which a program may make one for each piece of work.
func TestClientsArePrunedAndTheMinutesOfOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recent
		names := 0
		whole := func(client int) bool {
			names++
			_, whole := r.turn(topic{source{client: client}, "lock", fmt.Sprint(names)}, nil)
			return whole
		}
		for client := range 1000 {
			require.True(t, whole(client))
		}
		time.Sleep(pause / 2)
		for range most {
			require.True(t, whole(1000))
		}
		time.Sleep(pause / 2)
		for client := 2000; client < 5000; client++ {
			require.True(t, whole(client))
		}
		require.Less(t, len(r.minutes), 4000)
		require.False(t, whole(1000), "its minute is not over")
		time.Sleep(pause / 2)
		require.True(t, whole(1000))
	})
}

// Primitives of one client may have a logger or none. The line counts for all of them.
func TestBriefAlarmsWithoutALoggerCountInTheLineOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recent
		told := make(chan int, 9)
		turn := func(name int, closed func(int)) { r.turn(topic{name: fmt.Sprint(name)}, closed) }
		for i := range most + 5 {
			turn(i, nil)
		}
		time.Sleep(pause / 3)
		turn(100, func(brief int) { told <- brief })
		turn(101, func(brief int) { told <- brief })
		time.Sleep(pause / 3)
		turn(102, nil)
		synctest.Wait()
		require.Empty(t, told)
		time.Sleep(pause - 2*(pause/3))
		synctest.Wait()
		require.Len(t, told, 1)
		require.Equal(t, 8, <-told)
	})
}
