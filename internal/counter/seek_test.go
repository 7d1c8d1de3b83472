package counter_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/settings"
)

// A noter is a seeker that notes for how many others it asked.
type noter struct {
	seeker
	asked *[]int
}

func (n *noter) Begin(behind []counter.Seeker) counter.Attempt {
	*n.asked = append(*n.asked, len(behind))
	wants := []int64{n.wants[0]}
	for _, other := range behind {
		wants = append(wants, other.(*noter).wants[0])
	}
	return &seeker{n.key, wants}
}

// Where few are served at a time it is asked for few, and for more at once when all of them are served.
func TestAnAttemptAsksForTwiceAsManyAsWereServedLately(t *testing.T) {
	inLab(t, func(l *lab) {
		set, err := l.counter.Resolve("acquire", settings.Wait, nil)
		require.NoError(l, err)
		l.redis.Set(l.Context(), "c", 0, 0)
		var asked []int // only the head asks, one at a time
		served := make(chan struct{}, 20)
		for range cap(served) {
			go func() {
				if l.counter.Acquire(l.Context(), set, 1, &noter{seeker{l.counter.Key, []int64{1}}, &asked}, false) == nil {
					served <- struct{}{}
				}
			}()
			synctest.Wait()
		}
		for _, step := range []struct {
			raise int
			asks  []int // behind the head
		}{{1, []int{19}}, {1, []int{2}}, {2, []int{2}}, {9, []int{3, 7}}, {7, []int{6}}} {
			asked = nil
			_, err := l.giveBack(int64(step.raise))
			require.NoError(l, err)
			synctest.Wait()
			require.Equal(l, step.asks, asked, "after %d", step.raise)
		}
		require.Len(l, served, cap(served))
	})
}
