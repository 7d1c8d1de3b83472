package session_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/session"
)

// sleeper is a context that counts how often somebody begins to sleep until its end.
type sleeper struct {
	context.Context
	sleeps atomic.Int64
}

func (c *sleeper) Done() <-chan struct{} {
	c.sleeps.Add(1)
	return c.Context.Done()
}

// A try waits for what the call before it finds out. While a server is silent that takes long, and thousands of tries may wait for it.
func TestATryBehindACallThatHasNoAnswerLooksSeldom(t *testing.T) {
	client := idle(t)
	synctest.Test(t, func(t *testing.T) {
		s := session.Of(client, quick())
		key := cohort.KeyFor("x", "fair_lock")
		queue, part := s.Queue(key)
		defer part()
		w, _ := queue.Come("owner:1", time.Minute, nil, false)
		defer w.Leave()
		ctx := &sleeper{Context: t.Context()}
		began := time.Now()
		refused, err := s.Behind(ctx, key, 10*time.Second)
		require.False(t, refused)
		require.Error(t, err)
		require.GreaterOrEqual(t, time.Since(began), 10*time.Second)
		require.LessOrEqual(t, time.Since(began), 10*time.Second+100*time.Millisecond)
		require.Less(t, ctx.sleeps.Load(), int64(200))

		// What is found out soon, as a rule, is told soon.
		began = time.Now()
		time.AfterFunc(7*time.Millisecond, func() { queue.Note(errs.NotAcquired) })
		refused, err = s.Behind(ctx, key, 10*time.Second)
		require.NoError(t, err)
		require.True(t, refused)
		require.Less(t, time.Since(began), 15*time.Millisecond)
	})
}
