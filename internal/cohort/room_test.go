package cohort_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

// A room is shared by the waiters that want to.
type room struct{ most int }

func (r *room) Beside(who any) any {
	if who == nil || r.most == 0 {
		return nil
	}
	r.most--
	return r
}

func TestAGrantWithRoomIsSharedUpToTheFirstThatCannot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := cohort.NewQueue(nil)
		never := func(context.Context) (cohort.Verdict, error) { return cohort.Verdict{Sleep: time.Hour}, nil }
		var (
			mu     sync.Mutex
			served []string
		)
		ask := func(name string, who any) {
			request := &cohort.Request{Who: who, Expected: true, Poll: time.Hour}
			go func() {
				if q.WaitFor(t.Context(), time.Hour, request, never) == nil && request.Grant != nil {
					mu.Lock()
					defer mu.Unlock()
					served = append(served, name)
				}
			}()
			synctest.Wait()
		}
		for _, name := range []string{"first", "second", "third"} {
			ask(name, name)
		}
		ask("alone", nil)
		ask("last", "last")
		claim, ok := q.Claim()
		require.True(t, ok)
		require.True(t, claim.Give(&room{9}, time.Hour))
		synctest.Wait()
		slices.Sort(served)
		require.Equal(t, []string{"first", "second", "third"}, served)
		require.Equal(t, 2, q.Len())
		claim, ok = q.Claim()
		require.True(t, ok)
		require.Nil(t, claim.Who(), "those behind wait for their turn")
		require.True(t, claim.Give(&room{}, time.Hour))
		claim, ok = q.Claim()
		require.True(t, ok)
		require.True(t, claim.Give(&room{}, time.Hour))
	})
}

func TestAGrantWithRoomIsNotSharedPastAWaiterThatCannotBeGivenAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, served := cohort.NewQueue(nil), make(chan string, 3)
		ask := func(name string, request *cohort.Request) {
			go func() {
				_ = q.WaitFor(t.Context(), time.Hour, request, func(context.Context) (cohort.Verdict, error) {
					return cohort.Verdict{Done: name == "by itself", Sleep: time.Hour}, nil
				})
				served <- name
			}()
			synctest.Wait()
		}
		ask("first", &cohort.Request{Who: "first", Expected: true, Poll: time.Hour})
		ask("by itself", nil)
		ask("last", &cohort.Request{Who: "last", Expected: true, Poll: time.Hour})
		claim, ok := q.Claim()
		require.True(t, ok)
		require.True(t, claim.Give(&room{9}, time.Minute))
		require.Equal(t, "first", <-served)
		synctest.Wait()
		require.Empty(t, served)
		require.Equal(t, "by itself", <-served, "when it asks")
		synctest.Wait() // the last is the head by now, and sleeps
		claim, ok = q.Claim()
		require.True(t, ok)
		require.True(t, claim.Give(&room{}, time.Hour))
		require.Equal(t, "last", <-served)
		q.Stop()
	})
}
