package cohort

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A reader within a write hold takes the place of the writer in the table of holders, and gives nothing on.

func TestACohortGoesWithTheHolderInsideTheOneThatGave(t *testing.T) {
	for _, first := range []string{"the inner one", "the outer one"} {
		closed := 0
		r, key := bare(), KeyFor("lock", "")
		outer, inner := &Holder{Gives: true}, &Holder{}
		_, _, part := r.Join(key, func(*Cohort) Subscriptions { return Subscriptions{Close: func() { closed++ }} })
		r.Hold(key, outer)
		require.Nil(t, part())
		require.NotNil(t, r.Find(key), "the holder gives")
		r.Hold(key, inner)
		holders := []*Holder{inner, outer}
		if first == "the outer one" {
			holders = []*Holder{outer, inner}
		}
		for _, h := range holders {
			r.Free(key, h, true)
		}
		require.Nil(t, r.Find(key), "it would listen for as long as the client is there")
		require.Equal(t, 1, closed, first)
	}
}

func TestAHolderThatGivesNothingEndsTheExpectationOfAHandOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, key := bare(), KeyFor("lock", "")
		c, _, part := r.Join(key, deaf)
		defer part()
		asked := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.Hold(key, &Holder{Gives: true})
		go func() {
			_ = c.WaitFor(ctx, 0, &Request{Expected: true, Poll: far}, func(context.Context) (Verdict, error) {
				asked++
				return Verdict{Sleep: far}, nil
			})
		}()
		synctest.Wait()
		r.Hold(key, &Holder{Gives: true})
		synctest.Wait()
		require.Zero(t, asked, "a successor gives as well")
		for range 2 { // the second takes the place of one that gave nothing either
			r.Hold(key, &Holder{})
			synctest.Wait()
			require.Equal(t, 1, asked)
		}
	})
}
