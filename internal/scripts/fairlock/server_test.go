package fairlock_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// seed writes a state of the kind that the tables load.
func seed(t *testing.T, client *redis.Client, s State) {
	ctx := t.Context()
	now, err := client.Time(ctx).Result()
	require.NoError(t, err)
	for name, key := range s {
		switch value := key.Value.(type) {
		case Hash:
			require.NoError(t, client.HSet(ctx, name, map[string]string(value)).Err())
		case List:
			for _, element := range value {
				require.NoError(t, client.RPush(ctx, name, element).Err())
			}
		case Deadlines:
			for member, later := range value {
				score := float64(now.Add(later).UnixMilli())
				require.NoError(t, client.ZAdd(ctx, name, redis.Z{Member: member, Score: score}).Err())
			}
		}
		if key.TTL > 0 {
			require.NoError(t, client.PExpire(ctx, name, key.TTL).Err())
		}
	}
}

// listen returns a function that waits for the next message on any channel and answers which channel it was.
func listen(t *testing.T, client *redis.Client) func() string {
	ear := client.PSubscribe(t.Context(), "*")
	t.Cleanup(func() { require.NoError(t, ear.Close()) })
	_, err := ear.ReceiveTimeout(t.Context(), time.Minute)
	require.NoError(t, err)
	return func() string {
		event, err := ear.ReceiveTimeout(t.Context(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, "0", event.(*redis.Message).Payload)
		return event.(*redis.Message).Channel
	}
}

func TestAFullServerLetsGoWhoHoldsAndWhoWaits(t *testing.T) {
	ctx := t.Context()
	client := redistest.Process(t, "--maxmemory-policy", "noeviction").Client(t)
	for _, owner := range []string{a, b, c} {
		_, err := Send(ctx, client, acquire(owner))
		require.NoError(t, err)
	}
	seed(t, client, State{queue: {Value: List{f}}, timeouts: {Value: Deadlines{f: time.Hour}}}) // Redisson's, at the end
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	_, err := Send(ctx, client, acquire(d))
	require.ErrorContains(t, err, "OOM", "the server should be full")

	before := client.ZScore(ctx, timeouts, f).Val()
	_, err = Send(ctx, client, fairlock.Release(key, w(b), wake))
	require.NoError(t, err)
	require.Equal(t, []string{c, f}, client.LRange(ctx, queue, 0, -1).Val())
	require.Equal(t, before-float64(patience.Milliseconds()), client.ZScore(ctx, timeouts, f).Val())
	_, err = Send(ctx, client, fairlock.Release(key, w(f), wake))
	require.NoError(t, err)
	held, err := Send(ctx, client, fairlock.Release(key, w(a), wake))
	require.NoError(t, err)
	require.True(t, held)
	_, err = Send(ctx, client, fairlock.Release(key, w(c), wake))
	require.NoError(t, err)
	require.Empty(t, client.Keys(ctx, "*").Val())
}

// The clock of a client cannot do harm if it is never sent: no argument looks like a moment.
func TestNoScriptIsToldTheTime(t *testing.T) {
	commands := []redis.Cmder{
		acquire(a, w(b), w(c)).Cmder(context.Background(), false),
		try(a).Cmder(context.Background(), false),
		fairlock.Release(key, w(a), wake).Cmder(context.Background(), false),
		fairlock.Force(key, wake).Cmder(context.Background(), false),
		fairlock.Queued(key).Cmder(context.Background(), false),
	}
	yearAgo := time.Now().AddDate(-1, 0, 0)
	for _, cmd := range commands {
		for _, argument := range cmd.Args() {
			number, err := strconv.ParseInt(fmt.Sprint(argument), 10, 64)
			if err == nil {
				require.Less(t, number, yearAgo.Unix(), "%v", cmd.Args())
			}
		}
	}
}

// A Redisson client in front of ours acquires: it subtracts its patience from us, and would remove us at its next sweep
// if our deadline were in the past then.
func TestADeadlineOfOursSurvivesWhatThoseInFrontSubtract(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		// b and d are Redisson's; b has waited for so long that little is left. c stands between them, e last.
		seed(t, client, state(a, List{b, c, d, e}, Deadlines{b: time.Second, c: time.Second + patience,
			d: time.Second + patience + redisson, e: time.Second + 2*patience + redisson}, Deadlines{c: patience, e: patience}))
		_, err := Send(ctx, client, acquire(c, w(e)))
		require.NoError(t, err)
		deadline := func(owner string) time.Duration {
			now, err := client.Time(ctx).Result()
			require.NoError(t, err)
			return time.UnixMilli(int64(client.ZScore(ctx, timeouts, owner).Val())).Sub(now)
		}
		subtract := func(patience time.Duration) { // as whoever acquires does
			for _, owner := range []string{c, d, e} {
				require.NoError(t, client.ZIncrBy(ctx, timeouts, -float64(patience.Milliseconds()), owner).Err())
			}
		}
		subtract(redisson) // b acquires
		require.Greater(t, deadline(c), patience)
		require.Greater(t, deadline(d), redisson, "Redisson's that stands behind ours keeps its place too")
		subtract(patience) // c does
		subtract(redisson) // d does
		require.Greater(t, deadline(e), patience)
	})
}

// A waiter of Redisson's that died has a deadline that may be minutes away. While the lock is free each of our waiters
// that asks sends it the message again, and it has seconds to come, more of them when somebody listens to it.
func TestOneOfRedissonsThatDoesNotComeIsPassedOver(t *testing.T) {
	for name, listens := range map[string]bool{"nobody listens": false, "somebody listens": true} {
		near := 6 * time.Second
		if listens {
			near = 15 * time.Second
		}
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				ctx, client := t.Context(), srv.Client(t)
				heard := func() string { return channel + ":" + b }
				if listens {
					heard = listen(t, client)
				}
				seed(t, client, state("", List{b, c}, Deadlines{b: time.Hour, c: time.Hour + redisson}, nil))
				asks := func(owner string) fairlock.Answer {
					answer, err := Send(ctx, client, acquire(owner))
					require.NoError(t, err)
					return answer
				}
				first := asks(d)
				require.InDelta(t, near.Seconds(), first.Again.Seconds(), 0.5)
				require.Equal(t, channel+":"+b, heard())
				deadline := client.ZScore(ctx, timeouts, b).Val()
				require.InDelta(t, near.Seconds(), deadline/1000-float64(time.Now().Unix()), 2)
				require.LessOrEqual(t, asks(e).Again, first.Again)
				require.Equal(t, channel+":"+b, heard(), "it may have missed the first")
				require.Equal(t, deadline, client.ZScore(ctx, timeouts, b).Val(), "the time runs from the first")
				require.InDelta(t, (time.Hour + redisson).Seconds(), client.ZScore(ctx, timeouts, c).Val()/1000-float64(time.Now().Unix()), 10)

				require.NoError(t, client.ZAdd(ctx, timeouts, redis.Z{Member: b, Score: 1}).Err()) // the time is over
				require.InDelta(t, near.Seconds(), asks(d).Again.Seconds(), 0.5)
				require.Equal(t, []string{c, d, e}, client.LRange(ctx, queue, 0, -1).Val())
				if listens {
					require.Equal(t, channel+":"+c, heard())
				}
			})
		})
	}
}

// While somebody holds the lock nobody is late, and who stands in no queue hurries nobody.
func TestOnlyWhoIsNextToAFreeLockIsHurried(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		for name, row := range map[string]struct {
			before State
			call   scripts.Command[fairlock.Answer]
		}{
			"somebody holds":         {state(a, List{b}, Deadlines{b: time.Hour}, nil), acquire(d)},
			"a try":                  {state("", List{b}, Deadlines{b: time.Hour}, nil), try(d)},
			"nobody can be told":     {state("", List{b}, Deadlines{b: time.Hour}, nil), fairlock.Acquire(key, w(d), lease, scripts.Wake{}, nil, fairlock.Load{})},
			"it is one of ours":      {state("", List{b}, Deadlines{b: time.Hour}, Deadlines{b: patience}), acquire(d)},
			"it is not next":         {state("", List{c, b}, Deadlines{c: 2 * time.Hour, b: time.Hour}, Deadlines{c: patience}), acquire(d)},
			"its deadline is nearer": {state("", List{b}, Deadlines{b: time.Second}, nil), acquire(d)},
		} {
			require.NoError(t, client.FlushAll(ctx).Err())
			seed(t, client, row.before)
			was := client.ZScore(ctx, timeouts, b).Val()
			_, err := Send(ctx, client, row.call)
			require.NoError(t, err)
			require.GreaterOrEqual(t, client.ZScore(ctx, timeouts, b).Val(), was, name)
		}
	})
}

func TestPatienceIsRoundedUpToMilliseconds(t *testing.T) {
	cmd := fairlock.Acquire(key, fairlock.Waiter{Owner: a, Patience: time.Nanosecond}, time.Nanosecond, scripts.Wake{}, nil, fairlock.Load{})
	args := fmt.Sprint(cmd.Cmder(context.Background(), false).Args()...)
	require.True(t, strings.Contains(args, "1 1"), args)
}

// Lua puts all arguments of a command on a stack, which has an end.
func TestOneCommandConfirmsThousandsOfOwners(t *testing.T) {
	redistest.EachAlone(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		client := srv.Client(t, func(o *redis.Options) {
			o.ReadTimeout = time.Minute // miniredis takes a second of processor time for 5000 owners
		})
		var (
			order  List
			others []fairlock.Waiter
			alive  = make(Deadlines)
		)
		for n := range 10000 {
			owner := fmt.Sprint(u, n)
			order, alive[owner] = append(order, owner), time.Duration(n)*time.Millisecond
			if n > 0 {
				others = append(others, w(owner))
			}
		}
		seed(t, client, state(a, order, alive, alive))
		answer, err := Send(ctx, client, acquire(order[0], others...))
		require.NoError(t, err)
		require.Zero(t, answer.Place)
		for _, place := range answer.Places {
			require.Equal(t, 1, place)
		}
		signs := client.ZRangeWithScores(ctx, living, 0, -1).Val()
		require.Len(t, signs, len(order))
		require.Equal(t, signs[0].Score, signs[len(signs)-1].Score, "they differ by name alone: all were confirmed at once")
	})
}
