package fencedlock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlatchtest"
)

// A token is one that came from elsewhere, without its owner.
type token int64

func (token) Name() string   { return "elsewhere" }
func (t token) Token() int64 { return int64(t) }
func (token) Owner() string  { return "" }

func TestAWriterThatWasReplacedIsRefused(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		name := srv.Key(t, "lock")
		data := "{" + name + "}:data"
		lock, guard := fencedlock.New(client, name), fencedlock.NewGuard(client, name)
		suspended, err := lock.Lock(ctx, redlatch.WithLease(time.Hour))
		require.NoError(t, err)
		require.NoError(t, guard.For(suspended).Set(ctx, data, "old"))

		next, other := fencedlock.New(srv.Client(t), name), fencedlock.NewGuard(srv.Client(t), name)
		_, err = next.ForceUnlock(ctx) // as if the lease had run out during the suspension
		require.NoError(t, err)
		holder, err := next.Lock(ctx)
		require.NoError(t, err)
		require.True(t, suspended.Valid(), "it knows nothing yet")
		require.NoError(t, guard.For(suspended).Set(ctx, data, "late"), "nobody has written since")

		require.NoError(t, other.For(holder).Claim(ctx))
		for _, write := range []func() error{
			func() error { return guard.For(suspended).Set(ctx, data, "too late") },
			func() error { return guard.For(suspended).Do(ctx, "append", data, "too late") },
			func() error { return guard.For(suspended).Do(ctx, "del", data) },
			func() error { return guard.For(suspended).Claim(ctx) },
		} {
			err := write()
			require.ErrorIs(t, err, redlatch.ErrStale)
			require.ErrorContains(t, err, fmt.Sprintf("has seen token 2, which is newer than 1 of %q", name))
		}
		require.Equal(t, "late", client.Get(ctx, data).Val())
		writer := other.For(holder)
		require.NoError(t, writer.Set(ctx, data, "new"))
		inner, err := next.Lock(holder.Context(ctx))
		require.NoError(t, err)
		require.NoError(t, other.For(inner).Set(ctx, data, "newer"))
		require.NoError(t, writer.Set(ctx, data, "newest"), "the outer hold has the inner one's token")
		greatest, err := guard.Greatest(ctx)
		require.NoError(t, err)
		require.Equal(t, inner.Token(), greatest)
		require.Equal(t, "newest", client.Get(ctx, data).Val())
		require.NoError(t, inner.Unlock(ctx))
		require.NoError(t, holder.Unlock(ctx))
		require.ErrorIs(t, suspended.Unlock(ctx), redlatch.ErrLost)
	})
}

func TestAGuardRemembersWhenLockAndDataAreGone(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		guard := fencedlock.NewGuard(client, srv.Key(t, "lock"))
		greatest, err := guard.Greatest(ctx)
		require.NoError(t, err)
		require.Zero(t, greatest)
		data := srv.Key(t, "data")
		require.NoError(t, guard.For(token(7)).Do(ctx, "hset", data, "a", 1, "b", "two"))
		require.Equal(t, map[string]string{"a": "1", "b": "two"}, client.HGetAll(ctx, data).Val())
		require.NoError(t, guard.For(token(7)).Do(ctx, "del", data))
		require.ErrorIs(t, guard.For(token(6)).Set(ctx, data, 1), redlatch.ErrStale)
		require.EqualValues(t, -1, client.TTL(ctx, "redlatch_guard:{"+guard.Name()+"}").Val())
	})
}

func TestAGuardedCommandThatFailsSaysWhyAndCountsForNothing(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		guard, data := fencedlock.NewGuard(client, srv.Key(t, "lock")), srv.Key(t, "data")
		require.NoError(t, guard.For(token(5)).Set(ctx, data, "text"))
		require.ErrorContains(t, guard.For(token(9)).Do(ctx, "incr", data), "not an integer")
		require.Error(t, guard.For(token(9)).Do(ctx, "nosuchcommand", data))
		require.NoError(t, guard.For(token(5)).Set(ctx, data, "text"), "9 was not seen")
	})
}

func TestMisuseOfAGuardSendsNothing(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := t.Context(), srv.Client(t)
	require.NoError(t, client.Ping(ctx).Err())
	before := srv.Commands(t)
	require.NoError(t, redlatch.Configure(client, redlatch.WithCluster()))
	guard := fencedlock.NewGuard(client, "orders")
	for what, err := range map[string]error{
		"no token":             guard.For(token(0)).Set(ctx, "{orders}:a", 1),
		"negative":             guard.For(token(-1)).Claim(ctx),
		"no key":               guard.For(token(1)).Set(ctx, "", 1),
		"no key, and no slots": fencedlock.NewGuard(srv.Client(t), "orders").For(token(1)).Set(ctx, "", 1),
		"no command":           guard.For(token(1)).Do(ctx, "", "{orders}:a"),
		"too many arguments":   guard.For(token(1)).Do(ctx, "rpush", "{orders}:a", make([]any, 7001)...),
		"other slot":           guard.For(token(1)).Set(ctx, "{customers}:a", 1),
		"no hash tag":          guard.For(token(1)).Set(ctx, "a", 1),
		"no name":              fencedlock.NewGuard(client, "").For(token(1)).Set(ctx, "a", 1),
		"lease":                fencedlock.NewGuard(client, "orders", redlatch.WithLease(time.Second)).For(token(1)).Set(ctx, "a", 1),
		"empty tag":            fencedlock.NewGuard(client, "{}a").For(token(1)).Claim(ctx),
	} {
		require.ErrorIs(t, err, redlatch.ErrInvalid, what)
	}
	require.ErrorContains(t, guard.For(token(1)).Set(ctx, "a", 1), "{orders}:a")
	plain, _ := redlatchtest.NewHold(redlatchtest.Terms{Name: "parts"})
	require.EqualError(t, guard.For(plain).Claim(ctx), `redlatch: invalid argument: guard "orders": the hold of "parts" has no fencing token; `+
		`take the lock by package fencedlock`)
	require.PanicsWithValue(t, "redlatch: Guard.For got no hold; pass what Lock of a fenced lock returned without an error", func() { guard.For(nil) })
	require.Equal(t, before, srv.Commands(t))
}

// The server that is written for tests takes fewer.
func TestAGuardedCommandMayHaveThousandsOfArguments(t *testing.T) {
	srv := redistest.Real(t)
	ctx, client, data := t.Context(), srv.Client(t), srv.Key(t, "data")
	guard := fencedlock.NewGuard(client, srv.Key(t, "lock"))
	require.NoError(t, guard.For(token(1)).Do(ctx, "rpush", data, make([]any, 7000)...))
	require.EqualValues(t, 7000, client.LLen(ctx, data).Val())
}

// Writers with tokens of their own race. Whatever the order in which they arrive, each sees its refusal or stays in
// force until a greater one, and the greatest has the last word.
func TestRacingWritersAreOrderedByTheirTokens(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, name, data := t.Context(), srv.Key(t, "lock"), srv.Key(t, "data")
		const writers, writes = 8, 20
		var all sync.WaitGroup
		for i := range int64(writers) {
			guard := fencedlock.NewGuard(srv.Client(t), name)
			all.Go(func() {
				for range writes {
					// A list keeps the order in which the writes were made.
					err := guard.For(token(i+1)).Do(ctx, "rpush", data, i+1)
					if err != nil && !errors.Is(err, redlatch.ErrStale) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		made := srv.Client(t).LRange(ctx, data, 0, -1).Val()
		greatest := 0
		for _, text := range made {
			token, err := strconv.Atoi(text)
			require.NoError(t, err)
			require.GreaterOrEqual(t, token, greatest, "a smaller token wrote after a greater one: %v", made)
			greatest = token
		}
		require.Equal(t, writers, greatest)
		last := 0
		for _, text := range made {
			if text == strconv.Itoa(writers) {
				last++
			}
		}
		require.Equal(t, writes, last, "the greatest is never refused, and writes as often as it says")
	})
}

// harmedGuard is a guard whose commands go through a proxy. The server knows the scripts.
func harmedGuard(t *testing.T, timeout time.Duration) (*redis.Client, *faultproxy.Proxy, *fencedlock.Guard) {
	srv := redistest.Process(t)
	proxy := faultproxy.New(t, srv.Addr)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: timeout})
	t.Cleanup(func() { _ = client.Close() })
	guard := fencedlock.NewGuard(client, "lock", briefly.Linger(0))
	require.NoError(t, guard.For(token(1)).Do(t.Context(), "incr", "count"))
	return srv.Client(t), proxy, guard
}

func TestAGuardedWriteWithALostReplyIsMadeOnce(t *testing.T) {
	client, proxy, guard := harmedGuard(t, 200*time.Millisecond)
	for i, harm := range []faultproxy.Action{faultproxy.DropReply, faultproxy.ResetAfter, faultproxy.CloseBefore} {
		rule := proxy.On(faultproxy.Named("EVALSHA"), 1, harm)
		require.NoError(t, guard.For(token(1)).Do(t.Context(), "incr", "count"))
		require.Equal(t, 1, rule.Hits())
		require.Equal(t, strconv.Itoa(i+2), client.Get(t.Context(), "count").Val())
	}
}

// The ghost of a write that its caller gave up must not be made over what the same holder wrote after it.
func TestAGhostOfAGuardedWriteIsNotMadeOverALaterOne(t *testing.T) {
	client, proxy, guard := harmedGuard(t, 2*time.Second)
	ghost := proxy.On(faultproxy.Named("EVALSHA"), 1, faultproxy.Hold)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- guard.For(token(1)).Set(ctx, "state", "first") }()
	ghost.AwaitHits(t, 1)
	cancel()
	err := <-result
	require.ErrorIs(t, err, redlatch.ErrUncertain)
	require.ErrorIs(t, err, context.Canceled)

	// The fence is behind it once the lanes say so.
	require.Eventually(t, func() bool {
		for _, key := range client.Keys(t.Context(), "redlatch_lanes:*").Val() {
			for _, settled := range client.HGetAll(t.Context(), key).Val() {
				if settled == "5:0" {
					return true
				}
			}
		}
		return false
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, guard.For(token(1)).Set(t.Context(), "state", "second"))
	ghost.Release()
	ghost.AwaitExecuted(t, 1)
	require.Equal(t, "second", client.Get(t.Context(), "state").Val())
}

func TestAGuardWorksOnACluster(t *testing.T) {
	cluster := redistest.Cluster(t, 3, 0)
	client := cluster.Client(t)
	for _, name := range []string{"orders", "customers:{7}", "parts"} {
		lock, guard := fencedlock.New(client, name), fencedlock.NewGuard(client, name)
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, hold.Token())
		key := "{" + name + "}:state"
		if name == "customers:{7}" {
			key = "{7}:state"
		}
		require.NoError(t, guard.For(hold).Set(t.Context(), key, "open"))
		require.Equal(t, "open", client.Get(t.Context(), key).Val())
		require.ErrorIs(t, guard.For(hold).Set(t.Context(), "elsewhere:"+name[:3], "x"), redlatch.ErrInvalid)
		require.NoError(t, hold.Unlock(t.Context()))
	}
}
