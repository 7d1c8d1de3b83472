package countdownlatch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func trySetTo(t testing.TB, l *countdownlatch.Latch, n int64, opts ...redlatch.Option) {
	t.Helper()
	done, err := l.TrySetCount(t.Context(), n, opts...)
	require.NoError(t, err)
	require.True(t, done)
}

func deleted(t testing.TB, l *countdownlatch.Latch) {
	t.Helper()
	done, err := l.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, done)
}

// Whoever comes when it is over learns how it ended the last time.
func TestALateCallerIsToldHowTheLatchEnded(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "l")
		l := countdownlatch.New(client, key, briefly.Linger(0))
		require.ErrorIs(t, l.Await(ctx), countdownlatch.ErrNotSet)

		trySetTo(t, l, 1)
		require.NoError(t, l.CountDown(ctx))
		require.NoError(t, l.Await(ctx))
		require.NoError(t, l.CountDown(ctx), "of a latch that is over")
		require.NoError(t, l.Await(ctx), "it was counted down all the same")

		trySetTo(t, l, 1)
		require.ErrorIs(t, l.Await(ctx, redlatch.WithWait(0)), redlatch.ErrNotAcquired, "it counts again")
		deleted(t, l)
		err := l.Await(ctx)
		require.ErrorIs(t, err, countdownlatch.ErrDeleted)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorContains(t, err, key)

		trySetTo(t, l, 1, redlatch.WithTTL(time.Millisecond))
		eventually(t, "the TTL is over", func() bool { return value(t, client, key) == "" })
		eventually(t, "by the clock of the script too", func() bool { return l.Await(ctx) != nil })
		require.ErrorIs(t, l.Await(ctx), countdownlatch.ErrExpired)

		trySetTo(t, l, 2, redlatch.WithTTL(time.Hour))
		require.NoError(t, l.CountDown(ctx))
		require.NoError(t, l.CountDown(ctx))
		require.NoError(t, l.Await(ctx), "what was before does not count")
	})
}

// The record is there for a day after the latch is over, and while it is there.
func TestTheRecordLastsADayLongerThanTheLatch(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		ctx := t.Context()
		l := countdownlatch.New(client, "l", briefly.Linger(0), redlatch.WithPoll(time.Minute))
		trySetTo(t, l, 1, redlatch.WithTTL(100*time.Hour))
		time.Sleep(99 * time.Hour)
		require.NoError(t, l.CountDown(ctx))
		time.Sleep(23 * time.Hour)
		require.NoError(t, l.Await(ctx))
		time.Sleep(2 * time.Hour)
		require.ErrorIs(t, l.Await(ctx), countdownlatch.ErrNotSet)

		trySetTo(t, l, 1)
		for range 3 { // somebody who looks now and then keeps it
			time.Sleep(20 * time.Hour)
			require.ErrorIs(t, l.Await(ctx, redlatch.WithWait(time.Millisecond)), redlatch.ErrNotAcquired)
		}
		deleted(t, l)
		require.ErrorIs(t, l.Await(ctx), countdownlatch.ErrDeleted)
	})
}

// A round that ends and is followed by another before a waiter has looked is over for that waiter, and for no other.
func TestAWaiterIsToldOfTheRoundThatItWaitsFor(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(b *bubble)
		want error
	}{
		"counted down":                      {func(b *bubble) { require.NoError(b, b.other.CountDown(b.Context())) }, nil},
		"deleted":                           {func(b *bubble) { deleted(b.T, b.other) }, countdownlatch.ErrDeleted},
		"lost with all that the server had": {func(b *bubble) { b.redis.FlushAll(b.Context()) }, countdownlatch.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				set(b.T, b.redis, "l", "")
				trySetTo(b.T, b.other, 1)
				first := b.await(b.Context(), 3)
				begun := time.Now()
				c.end(b)
				trySetTo(b.T, b.other, 1)
				second := b.await(b.Context(), 3)
				for range 3 {
					require.ErrorIs(b, <-first, c.want)
				}
				require.LessOrEqual(b, time.Since(begun), poll)
				time.Sleep(3 * poll)
				require.Empty(b, second, "they wait for the second round")
				deleted(b.T, b.other)
				for range 3 {
					require.ErrorIs(b, <-second, countdownlatch.ErrDeleted)
				}
			})
		})
	}
}

func TestAWaiterWhoseRoundHasExpiredIsToldSoAlsoWhenTheNextIsSet(t *testing.T) {
	inBubble(t, func(b *bubble) {
		set(b.T, b.redis, "l", "")
		trySetTo(b.T, b.other, 1, redlatch.WithTTL(20*time.Second+poll/2))
		first := b.await(b.Context(), 2)
		eventuallyIn(b, func() bool { return value(b.T, b.redis, "l") == "" })
		trySetTo(b.T, b.other, 1)
		for range 2 {
			require.ErrorIs(b, <-first, countdownlatch.ErrExpired)
		}
		require.NoError(b, b.other.CountDown(b.Context()))
	})
}

// eventuallyIn looks each millisecond of a bubble's time.
func eventuallyIn(b *bubble, done func() bool) {
	for range 60_000 {
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	b.Fatal("not within a minute")
}

// Another program sets the latch, or counts it down, and keeps no record.
func TestALatchThatAnotherProgramSetsOrCountsDown(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(b *bubble)
		end  func(b *bubble)
		want error
	}{
		"set and counted down there": {
			func(b *bubble) { set(b.T, b.redis, "l", "1") }, func(b *bubble) { set(b.T, b.redis, "l", "") }, nil},
		"set here, counted down there": {
			func(b *bubble) { trySetTo(b.T, b.other, 1) }, func(b *bubble) { set(b.T, b.redis, "l", "") }, nil},
		"set here for a time, counted down there": {
			func(b *bubble) { trySetTo(b.T, b.other, 1, redlatch.WithTTL(time.Hour)) }, func(b *bubble) { set(b.T, b.redis, "l", "") }, nil},
		"set there, counted down here": {
			func(b *bubble) { set(b.T, b.redis, "l", "1") }, func(b *bubble) { require.NoError(b, b.other.CountDown(b.Context())) }, nil},
		"set there, deleted here": {
			func(b *bubble) { set(b.T, b.redis, "l", "1") }, func(b *bubble) { deleted(b.T, b.other) }, countdownlatch.ErrDeleted},
		"set there, and lost with all that the server had": {
			func(b *bubble) { set(b.T, b.redis, "l", "1") }, func(b *bubble) { b.redis.FlushAll(b.Context()) }, countdownlatch.ErrExpired},
		"set there, lost with all that the server had, and set here": {
			func(b *bubble) { set(b.T, b.redis, "l", "1") }, func(b *bubble) {
				b.redis.FlushAll(b.Context())
				trySetTo(b.T, b.other, 1)
			}, countdownlatch.ErrExpired},
		"set there for a time that runs out": {
			func(b *bubble) { b.redis.Set(b.Context(), "l", "1", 10*time.Second) }, func(b *bubble) { time.Sleep(10 * time.Second) }, countdownlatch.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				set(b.T, b.redis, "l", "")
				c.set(b)
				results := b.await(b.Context(), 3)
				c.end(b)
				for range 3 {
					require.ErrorIs(b, <-results, c.want)
				}
			})
		})
	}
}

// The record says how the last latch of another program ended, if this library has ended it. Of the one after that it says nothing.
func TestALatchOfAnotherProgramDoesNotEndAsTheOneBeforeIt(t *testing.T) {
	foreign := func(b *bubble, ttl time.Duration) { b.redis.Set(b.Context(), "l", "1", ttl) }
	gone := func(b *bubble) { set(b.T, b.redis, "l", "") }
	counted := func(b *bubble) { require.NoError(b, b.other.CountDown(b.Context())) }
	for name, c := range map[string]struct {
		before func(b *bubble)
		ttl    time.Duration
		end    func(b *bubble)
		want   error
	}{
		"deleted here, and counted down there": {func(b *bubble) { deleted(b.T, b.other) }, 0, gone, nil},
		"counted down here, and expired":       {counted, 10 * time.Second, func(*bubble) { time.Sleep(10 * time.Second) }, countdownlatch.ErrExpired},
	} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after a round of this library: %v", name, own), func(t *testing.T) {
				inBubble(t, func(b *bubble) {
					if own {
						gone(b)
						trySetTo(b.T, b.other, 1)
						counted(b)
					}
					foreign(b, 0)
					c.before(b)
					foreign(b, c.ttl)
					results := b.await(b.Context(), 3)
					c.end(b)
					for range 3 {
						require.ErrorIs(b, <-results, c.want)
					}
				})
			})
		}
	}
}

// What is executed twice, or late, is written into the record once.
func TestTheRecordIsRightWhateverHappensToTheMessages(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		for name, c := range map[string]struct {
			before string
			end    func(ctx context.Context, l *countdownlatch.Latch) (any, error)
			want   error
		}{
			"counted down": {"1", countDown, nil},
			"deleted":      {"3", remove, countdownlatch.ErrDeleted},
		} {
			for fault, action := range map[string]faultproxy.Action{
				"the reply is lost":                        faultproxy.DropReply,
				"the connection is closed after execution": faultproxy.CloseAfter,
				"the request is lost":                      faultproxy.DropRequest,
			} {
				t.Run(name+"/"+fault, func(t *testing.T) {
					t.Parallel()
					key := srv.Key(t, "l")
					l := countdownlatch.New(r.direct, key, briefly.Linger(0))
					n := int64(1)
					if c.before == "3" {
						n = 3
					}
					trySetTo(t, l, n)
					r.proxy.On(onCall(key), 1, action)
					_, err := c.end(t.Context(), countdownlatch.New(r.faulty, key, briefly.Linger(0)))
					require.NoError(t, err)
					require.ErrorIs(t, l.Await(t.Context()), c.want)
					trySetTo(t, l, 1)
					require.ErrorIs(t, l.Await(t.Context(), redlatch.WithWait(0)), redlatch.ErrNotAcquired)
				})
			}
		}
		t.Run("a late copy of a count-down", func(t *testing.T) {
			t.Parallel()
			key := srv.Key(t, "l")
			l := countdownlatch.New(r.direct, key, briefly.Linger(0))
			trySetTo(t, l, 1)
			ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
			own := r.another(t, brief) // the others close connections, and a command of theirs may share one with this one
			require.NoError(t, countdownlatch.New(own, key, briefly.Linger(0)).CountDown(t.Context()))
			trySetTo(t, l, 2)
			deleted(t, l)
			ghost.Release()
			ghost.AwaitExecuted(t, 1)
			require.ErrorIs(t, l.Await(t.Context()), countdownlatch.ErrDeleted)
		})
	})
}
