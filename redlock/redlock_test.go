package redlock_test

import (
	"context"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

const name = "orders:42"

// servers starts n processes and gives a function that makes clients of them, as one more process of the program would.
func servers(t *testing.T, n int) (nodes []*redistest.Server, clients func() []redlatch.Client) {
	for range n {
		nodes = append(nodes, redistest.Process(t))
	}
	return nodes, func() (clients []redlatch.Client) {
		for _, node := range nodes {
			clients = append(clients, node.Client(t))
		}
		return clients
	}
}

// keys counts the nodes that have the lock.
func keys(t *testing.T, nodes []*redistest.Server) (n int) {
	t.Helper()
	for _, node := range nodes {
		n += len(node.Keys(t))
	}
	return n
}

func nothing(t *testing.T, nodes []*redistest.Server) {
	t.Helper()
	eventually(t, "nothing is left on any server", func() bool { return keys(t, nodes) == 0 })
}

func TestAHoldIsOnAllServersThatAnswer(t *testing.T) {
	nodes, clients := servers(t, 5)
	ctx := cancellable(t)
	lock, other := redlock.New(clients(), name, quiet...), redlock.New(clients(), name, quiet...)
	hold := take(t, lock, ctx)
	eventually(t, "all five have it", func() bool { return keys(t, nodes) == 5 })
	refused(t, other, ctx)
	require.Empty(t, hold.Owner())
	require.NoError(t, hold.Unlock(ctx))
	nothing(t, nodes)
	free(t, other)
}

func TestWithTwoOfFiveDownOrHungItStillServes(t *testing.T) {
	for name, harm := range map[string]func(*redistest.Server){"down": (*redistest.Server).Kill, "hung": (*redistest.Server).Stop} {
		t.Run(name, func(t *testing.T) {
			nodes, clients := servers(t, 5)
			ctx := cancellable(t)
			lock, other := redlock.New(clients(), name, quiet...), redlock.New(clients(), name, quiet...)
			harm(nodes[0])
			harm(nodes[3])
			up := []*redistest.Server{nodes[1], nodes[2], nodes[4]}
			for _, l := range []*redlock.Lock{lock, other} {
				hold, err := l.TryLock(ctx)
				require.NoError(t, err)
				refused(t, other, ctx)
				require.True(t, hold.Valid())
				require.NoError(t, hold.Unlock(ctx))
			}
			nothing(t, up)
			// Exclusion goes on among processes that wait for each other.
			exclude(t, ctx, 10, lock, other)
			nothing(t, up)
			if name == "hung" {
				nodes[0].Continue() // and executes what it was sent meanwhile
				nodes[3].Continue()
				nothing(t, nodes)
			}
		})
	}
}

// exclude has four workers per lock enter one after another.
func exclude(t *testing.T, ctx context.Context, rounds int, locks ...*redlock.Lock) {
	var (
		inside atomic.Int64
		all    sync.WaitGroup
	)
	for i := range 4 * len(locks) {
		all.Go(func() {
			for range rounds {
				hold, err := locks[i%len(locks)].Lock(ctx)
				if err != nil {
					t.Errorf("lock: %v", err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d inside", n)
				}
				inside.Add(-1)
				if err := hold.Unlock(ctx); err != nil {
					t.Errorf("unlock: %v", err)
				}
			}
		})
	}
	all.Wait()
}

func TestWithThreeOfFiveDownOrHungItSaysSoInItsTimeAndLeavesNothing(t *testing.T) {
	for state, harm := range map[string]func(*redistest.Server){"down": (*redistest.Server).Kill, "hung": (*redistest.Server).Stop} {
		t.Run(state, func(t *testing.T) {
			nodes, clients := servers(t, 5)
			ctx := cancellable(t)
			lock := redlock.New(clients(), name, quiet...)
			up, dead := nodes[:2], nodes[2:]
			for _, node := range dead {
				harm(node)
			}
			check := func(err error) {
				t.Helper()
				var failed *redlock.NodeError
				require.ErrorAs(t, err, &failed)
				require.False(t, failed.Refused)
				for _, node := range dead {
					require.ErrorContains(t, err, node.Addr)
				}
				for _, node := range up {
					require.NotContains(t, err.Error(), node.Addr)
				}
				require.ErrorContains(t, err, "2 of 5 servers granted it and 3 are needed")
				nothing(t, up)
			}
			_, err := lock.TryLock(ctx)
			require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody has it")
			require.NotErrorIs(t, err, context.DeadlineExceeded, "nobody's context is over")
			check(err)
			_, err = lock.Lock(ctx, redlatch.WithOutage(300*time.Millisecond))
			require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
			check(err)
			_, err = lock.Lock(ctx, redlatch.WithWait(time.Second))
			require.ErrorIs(t, err, redlatch.ErrUnavailable)
			require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody has it")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			nothing(t, up)

			_, err = lock.IsLocked(ctx)
			require.ErrorContains(t, err, "2 of 5 servers answered and 3 are needed")
			for _, node := range dead {
				if state == "down" {
					node.Restart()
				} else {
					node.Continue()
				}
			}
			nothing(t, nodes)
			free(t, redlock.New(clients(), name, quiet...))
		})
	}
}

// Whoever reads the error wants to know about every server, also about those whose answers could not have changed it.
func TestTheErrorNamesTheServersThatWereNotWaitedFor(t *testing.T) {
	nodes, clients := servers(t, 5)
	ctx := cancellable(t)
	for _, node := range nodes[:3] {
		take(t, rlock.New(node.Client(t), name, quiet...), ctx)
	}
	for _, node := range nodes[3:] {
		node.Stop()
		t.Cleanup(node.Continue)
	}
	lock := redlock.New(clients(), name, with(redlatch.WithLease(time.Hour), redlock.WithNodeTimeout(time.Minute))...)
	_, err := lock.TryLock(ctx)
	require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	require.ErrorContains(t, err, "0 of 5 servers granted it and 3 are needed")
	for i, node := range nodes {
		said := "is held by somebody else"
		if i >= 3 {
			said = "not waited for: the others had decided it"
		}
		require.Regexp(t, "(?m)server "+strconv.Itoa(i+1)+" .*"+regexp.QuoteMeta(node.Addr)+".*"+said, err.Error())
	}
	var first *redlock.NodeError
	require.ErrorAs(t, err, &first)
	require.True(t, first.Refused, "those that answered come first")
}

// One server is hung when the lock is given back. A majority has confirmed, so Unlock does not wait for it.
func TestUnlockDoesNotWaitForAServerThatHangs(t *testing.T) {
	nodes, clients := servers(t, 3)
	ctx := cancellable(t)
	lock := redlock.New(clients(), name, with(redlatch.WithReleaseTimeout(time.Hour))...)
	hold := takeOnAll(t, lock, ctx, nodes)
	nodes[1].Stop()
	require.NoError(t, hold.Unlock(ctx))
	free(t, lock)
	nodes[1].Continue()
	nothing(t, nodes)
}

func TestAnErrorTellsWhichServerRefusedAndWhichFailed(t *testing.T) {
	nodes, clients := servers(t, 3)
	ctx := cancellable(t)
	busy := take(t, rlock.New(nodes[0].Client(t), name, quiet...), ctx)
	nodes[2].Kill()
	_, err := redlock.New(clients(), name, quiet...).TryLock(ctx)
	require.ErrorIs(t, err, redlatch.ErrNotAcquired, "with the first server it could be had")
	told := map[string]bool{}
	for _, e := range nodeErrors(err) {
		told[e.Node] = e.Refused
	}
	require.Equal(t, map[string]bool{"1 (" + nodes[0].Addr + ")": true, "3 (" + nodes[2].Addr + ")": false}, told)
	require.NoError(t, busy.Unlock(ctx))
	nothing(t, nodes[:2])
}

// nodeErrors are all that an error has.
func nodeErrors(err error) (all []*redlock.NodeError) {
	if e, ok := err.(*redlock.NodeError); ok {
		return []*redlock.NodeError{e}
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, nodeErrors(inner)...)
		}
	case interface{ Unwrap() error }:
		return nodeErrors(e.Unwrap())
	}
	return all
}

func TestAHoldLivesWhileAMajorityIsRenewedAndIsLostWithoutIt(t *testing.T) {
	nodes, clients := servers(t, 5)
	ctx := cancellable(t)
	const timeout = 3 * time.Second
	lock := redlock.New(clients(), name, with(redlatch.WithWatchdogTimeout(timeout))...)
	hold := takeOnAll(t, lock, ctx, nodes)
	work := hold.Context(ctx)
	nodes[0].Kill()
	require.NoError(t, nodes[1].Client(t).Del(ctx, name).Err())
	until := hold.Until().Add(2 * timeout)
	eventually(t, "renewals by the others", func() bool { return hold.Until().After(until) || work.Err() != nil })
	require.NoError(t, work.Err())
	require.True(t, hold.Valid())

	nodes[2].Stop()
	select {
	case <-work.Done():
	case <-time.After(patience):
		t.Fatal("the loss was not noticed")
	}
	require.ErrorIs(t, context.Cause(work), redlatch.ErrLost)
	require.ErrorContains(t, context.Cause(work), "of its members") // by the third's loss, or by the clock at the same moment
	// The servers that are left still keep it, so nobody else was let in before.
	require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
}

func TestAHoldWhoseKeysAreGoneOnAMajorityIsLost(t *testing.T) {
	nodes, clients := servers(t, 3)
	ctx := cancellable(t)
	hold := takeOnAll(t, redlock.New(clients(), name, quiet...), ctx, nodes)
	require.NoError(t, nodes[0].Client(t).Del(ctx, name).Err())
	nodes[2].Restart() // empty
	require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
	nothing(t, nodes)

	hold = takeOnAll(t, redlock.New(clients(), name, quiet...), ctx, nodes)
	require.NoError(t, nodes[1].Client(t).Del(ctx, name).Err())
	require.NoError(t, hold.Unlock(ctx), "one of three is no loss")
	nothing(t, nodes)
}

// Two clients, each of which is ahead at two servers: both give way and go apart.
func TestASplitVoteIsResolved(t *testing.T) {
	nodes, clients := servers(t, 4)
	ctx := cancellable(t)
	exclude(t, ctx, 20, redlock.New(clients(), name, quiet...), redlock.New(clients(), name, quiet...),
		redlock.New(clients(), name, quiet...), redlock.New(clients(), name, quiet...))
	nothing(t, nodes)
}

// The reply of one server, or two, is lost, in each way. The lock is had by the others, and what the lost reply would
// have told is undone or taken over.
func TestLostRepliesLeaveNothing(t *testing.T) {
	for what, action := range map[string]faultproxy.Action{
		"reply lost": faultproxy.DropReply, "closed after": faultproxy.CloseAfter, "request lost": faultproxy.DropRequest,
		"half a reply": faultproxy.HalfReply, "late": faultproxy.Delay(2 * time.Second),
	} {
		for _, harmed := range []int{1, 2} {
			t.Run(what, func(t *testing.T) {
				nodes, _ := servers(t, 3)
				ctx := cancellable(t)
				var clients []redlatch.Client
				for i, node := range nodes {
					address := node.Addr
					if i < harmed {
						proxy := faultproxy.New(t, node.Addr)
						proxy.On(faultproxy.Named("EVALSHA", "EVAL"), 1, action)
						address = proxy.Addr()
					}
					client := redis.NewClient(&redis.Options{Addr: address, ReadTimeout: 1200 * time.Millisecond})
					t.Cleanup(func() { _ = client.Close() })
					clients = append(clients, client)
				}
				lock := redlock.New(clients, name, with(redlock.WithNodeTimeout(600*time.Millisecond))...)
				hold, err := lock.TryLock(ctx)
				if harmed == 1 {
					require.NoError(t, err)
				}
				if err == nil {
					require.NoError(t, hold.Unlock(ctx))
				}
				nothing(t, nodes)
				hold = take(t, lock, ctx)
				require.NoError(t, hold.Unlock(ctx))
				nothing(t, nodes)
			})
		}
	}
}

// What is left of the lease when the majority has answered is what the hold is trusted for.
func TestValidityIsTheLeaseLessElapsedTimeAndDrift(t *testing.T) {
	nodes, _ := servers(t, 3)
	ctx := cancellable(t)
	var clients []redlatch.Client
	for _, node := range nodes {
		proxy := faultproxy.New(t, node.Addr)
		proxy.Latency(60 * time.Millisecond)
		client := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		require.NoError(t, client.Ping(ctx).Err())
		clients = append(clients, client)
	}
	const lease = 2 * time.Second
	lock := redlock.New(clients, name, with(redlock.WithNodeTimeout(time.Second))...)
	start := time.Now()
	hold := take(t, lock, ctx, redlatch.WithLease(lease))
	answered := time.Now()
	require.GreaterOrEqual(t, answered.Sub(start), 120*time.Millisecond)
	// Trust counts from before the servers were asked, not from their answers.
	require.True(t, hold.Until().Before(answered.Add(lease-120*time.Millisecond-22*time.Millisecond)))
	require.True(t, hold.Until().After(start.Add(lease/2)))
	require.NoError(t, hold.Unlock(ctx))

	_, err := lock.TryLock(ctx, redlatch.WithLease(100*time.Millisecond), redlock.WithNodeTimeout(time.Second))
	require.Error(t, err, "the answers take longer than the lease lasts")
	nothing(t, nodes)
}

// The client itself would wait for ever.
func TestAnAttemptIsOverWhenTheNodeTimeoutIs(t *testing.T) {
	nodes, _ := servers(t, 3)
	var clients []redlatch.Client
	for _, node := range nodes {
		client := node.Client(t, func(o *redis.Options) { o.ReadTimeout = -1 })
		require.NoError(t, client.Ping(context.Background()).Err())
		clients = append(clients, client)
	}
	nodes[0].Stop()
	nodes[2].Stop()
	failed := make(chan error, 1)
	go func() {
		_, err := redlock.New(clients, name, quiet...).TryLock(context.Background(), redlock.WithNodeTimeout(time.Second))
		failed <- err
	}()
	select {
	case err := <-failed:
		require.ErrorContains(t, err, "no answer within 1s")
	case <-time.After(patience):
		t.Error("it waits for a server that hangs")
	}
	nodes[0].Continue()
	nodes[2].Continue()
	nothing(t, nodes)
}
