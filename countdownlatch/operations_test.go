package countdownlatch_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestALatchThatDoesNotExistIsNotSet(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "l")
		l := countdownlatch.New(client, key, briefly.Linger(0))
		require.Equal(t, key, l.Name())
		require.ErrorIs(t, l.Await(ctx), countdownlatch.ErrNotSet)
		n, err := l.Count(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
		require.NoError(t, l.CountDown(ctx)) // does nothing, and owes nothing to the next count
		done, err := l.Delete(ctx)
		require.NoError(t, err)
		require.False(t, done)
		require.Empty(t, srv.Keys(t), "what changes nothing leaves nothing")
		done, err = l.TrySetCount(ctx, 1)
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, "1", value(t, client, key))
	})
}

func TestTheLatchOpensAtZeroAndCanBeSetAgain(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "l")
		l := countdownlatch.New(client, key, briefly.Linger(0))
		for range 2 {
			done, err := l.TrySetCount(ctx, 3)
			require.NoError(t, err)
			require.True(t, done)
			done, err = l.TrySetCount(ctx, 5)
			require.NoError(t, err)
			require.False(t, done)
			for left := int64(2); left >= 0; left-- {
				closed := l.Await(ctx, redlatch.WithWait(0))
				require.ErrorIs(t, closed, redlatch.ErrNotAcquired)
				require.NoError(t, l.CountDown(ctx))
				n, err := l.Count(ctx)
				require.NoError(t, err)
				require.Equal(t, left, n)
			}
			require.NoError(t, l.Await(ctx))
			require.Equal(t, "", value(t, client, key), "an open latch does not exist")
			require.NoError(t, l.CountDown(ctx))
			require.Equal(t, "", value(t, client, key))
		}
	})
}

func TestCountDownKeepsTheTTL(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "l")
		l := countdownlatch.New(client, key, briefly.Linger(0), redlatch.WithTTL(time.Hour))
		_, err := l.TrySetCount(ctx, 3)
		require.NoError(t, err)
		require.NoError(t, l.CountDown(ctx))
		_, err = l.TrySetCount(ctx, 3, redlatch.WithTTL(time.Second))
		require.NoError(t, err)
		ttl := client.PTTL(ctx, key).Val()
		require.LessOrEqual(t, ttl, time.Hour)
		require.Greater(t, ttl, time.Hour-time.Minute)

		set(t, client, key, "")
		_, err = l.TrySetCount(ctx, 3, redlatch.WithTTL(time.Minute))
		require.NoError(t, err)
		require.LessOrEqual(t, client.PTTL(ctx, key).Val(), time.Minute, "the call's wins")
	})
}

func TestCountsOfOtherProgramsThatMakeNoSenseAreOpen(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		for _, count := range []string{"0", "-2"} {
			ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "l")
			l := countdownlatch.New(client, key, briefly.Linger(0))
			set(t, client, key, count)
			require.NoError(t, l.Await(ctx))
			n, err := l.Count(ctx)
			require.NoError(t, err)
			require.Zero(t, n)
			done, err := l.TrySetCount(ctx, 1)
			require.NoError(t, err)
			require.False(t, done)
			require.NoError(t, l.CountDown(ctx))
			require.Equal(t, "", value(t, client, key))
		}
	})
}

func TestMisuseIsReportedByEveryCallBeforeAnythingIsSent(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := t.Context(), srv.Client(t)
	before := srv.Commands(t)
	for name, l := range map[string]*countdownlatch.Latch{
		"empty name": countdownlatch.New(client, ""),
		"lease":      countdownlatch.New(client, "l", redlatch.WithLease(time.Second)),
		"replicas":   countdownlatch.New(client, "l", redlatch.WithReplicas(1, time.Second)),
		"max hold":   countdownlatch.New(client, "l", redlatch.WithMaxHold(time.Second)),
		"bad TTL":    countdownlatch.New(client, "l", redlatch.WithTTL(0)),
	} {
		_, set := l.TrySetCount(ctx, 1)
		_, count := l.Count(ctx)
		_, remove := l.Delete(ctx)
		for _, err := range []error{set, count, remove, l.CountDown(ctx), l.Await(ctx)} {
			require.ErrorIs(t, err, redlatch.ErrInvalid, name)
		}
	}
	l := countdownlatch.New(client, "l")
	for _, n := range []int64{0, -1, math.MinInt64} {
		_, err := l.TrySetCount(ctx, n)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
	}
	_, err := l.TrySetCount(ctx, 1, redlatch.WithWait(time.Second))
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.ErrorIs(t, l.Await(ctx, redlatch.WithTTL(time.Second)), redlatch.ErrInvalid)
	require.Equal(t, before, srv.Commands(t))
}

func TestAKeyThatHoldsSomethingElseIsAnErrorAndLeftAlone(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		lock, text := srv.Key(t, "lock"), srv.Key(t, "text")
		require.NoError(t, client.HSet(ctx, lock, "owner", "1").Err())
		require.NoError(t, client.Set(ctx, text, "many", time.Hour).Err())
		for key, want := range map[string]string{lock: "WRONGTYPE", text: "integer"} {
			before := client.Dump(ctx, key).Val()
			l := countdownlatch.New(client, key, briefly.Linger(0), redlatch.WithReleaseTimeout(500*time.Millisecond))
			_, set := l.TrySetCount(ctx, 1)
			_, count := l.Count(ctx)
			_, remove := l.Delete(ctx)
			for i, err := range []error{set, count, remove, l.CountDown(ctx), l.Await(ctx)} {
				require.ErrorContains(t, err, want, "call %d", i)
				require.ErrorContains(t, err, "use another name", "call %d", i)
				require.ErrorContains(t, err, key, "call %d", i)
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "call %d", i)
				if i != 3 { // a count-down goes on trying, and the last try may be under way when its time is over
					require.NotErrorIs(t, err, redlatch.ErrUncertain, "call %d", i)
				}
			}
			require.Equal(t, before, client.Dump(ctx, key).Val())
		}
	})
}

// What Redisson sees: a string with a number, "1" when a count was set and "0" when the latch opens. At a deletion
// Redisson itself says "1" and leaves its waiters asleep; "0" makes them look.
func TestTheWireFormatIsRedissons(t *testing.T) {
	for server, start := range map[string]func(testing.TB) *redistest.Server{
		"miniredis": redistest.Mini,
		"redis":     func(t testing.TB) *redistest.Server { return redistest.Process(t) }, // of our own: the names are fixed
	} {
		for name, channel := range map[string]string{
			"l":      "redisson_countdownlatch__channel__{l}",
			"{tag}l": "redisson_countdownlatch__channel__{{tag}l}",
		} {
			t.Run(server+"/"+name, func(t *testing.T) {
				ctx, client := t.Context(), start(t).Client(t)
				heard := client.PSubscribe(ctx, "*")
				defer heard.Close()
				_, err := heard.Receive(ctx)
				require.NoError(t, err)
				l := countdownlatch.New(client, name, briefly.Linger(0))
				trySet := func(n int64) func() error {
					return func() error { _, err := l.TrySetCount(ctx, n); return err }
				}
				down := func() error { return l.CountDown(ctx) }
				remove := func() error { _, err := l.Delete(ctx); return err }
				for i, step := range []struct {
					do    func() error
					value string
					says  []string
				}{
					{trySet(2), "2", []string{"1"}},
					{trySet(3), "2", nil},
					{down, "1", nil},
					{down, "", []string{"0"}},
					{down, "", nil},
					{remove, "", nil},
					{trySet(2), "2", []string{"1"}},
					{remove, "", []string{"0"}},
				} {
					require.NoError(t, step.do(), "step %d", i)
					require.Equal(t, step.value, value(t, client, name), "step %d", i)
					require.NoError(t, client.Publish(ctx, "end", "").Err())
					var says []string
					for {
						m, err := heard.ReceiveMessage(ctx)
						require.NoError(t, err)
						if m.Channel == "end" {
							break
						}
						require.Equal(t, channel, m.Channel)
						says = append(says, m.Payload)
					}
					require.Equal(t, step.says, says, "step %d", i)
				}
			})
		}
	}
}
