package session_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// The channels are subscribed all the time, so a cohort hears messages from its first moment. The race detector is the judge.
func TestACohortIsWholeBeforeMessagesReachIt(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s := session.Of(srv.Client(t), quick())
		_, err := s.Publish(t.Context()) // finds out which family of channels there is
		require.NoError(t, err)
		releases, queue, counted := srv.Key(t, "releases"), srv.Key(t, "queue"), srv.Key(t, "counted")
		var heard atomic.Int64
		channels := session.Channels{
			Releases: releases, Queue: queue, Counted: counted,
			Handed:  func(c *cohort.Cohort, _ string) { c.Hears(); heard.Add(1) },
			Ignored: func(string) bool { heard.Add(1); return true },
		}
		name := 0
		join := func() func() {
			name++
			_, _, part := s.Join(cohort.KeyFor("a test", strconv.Itoa(name)), channels)
			return func() { part() }
		}
		defer join()() // keeps the subscriptions
		others := srv.Client(t)
		publish := func() {
			require.NoError(t, others.Publish(t.Context(), releases, "01").Err())
			require.NoError(t, others.Publish(t.Context(), queue+":"+s.ID, "01").Err())
		}
		redistest.Eventually(t, "messages arrive", func() bool { publish(); return heard.Load() > 0 })
		over := make(chan struct{})
		go func() {
			defer close(over)
			for end := heard.Load() + 3000; heard.Load() < end && t.Context().Err() == nil; {
				publish()
			}
		}()
		for {
			part := join()
			for first := heard.Load(); heard.Load() == first; time.Sleep(10 * time.Microsecond) {
				select {
				case <-over:
					part()
					return
				default:
				}
			}
			part()
		}
	})
}
