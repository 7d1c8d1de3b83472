package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A topology is a cluster that does not know its nodes yet.
type topology struct {
	load    func() error
	reloads int
}

func (c *topology) MasterForKey(context.Context, string) (*redis.Client, error) { return nil, c.load() }
func (c *topology) ReloadState(context.Context)                                 { c.reloads++ }

func TestALookUpThatFailsSaysThatTheCommandWasNotSent(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		class outcome.Class
	}{
		"read time-out":   {os.ErrDeadlineExceeded, outcome.NotYet},
		"no nodes":        {errors.New("redis: cluster has no nodes"), outcome.NotYet},
		"closed client":   {redis.ErrClosed, outcome.Hopeless},
		"not permitted":   {redis.ErrCrossSlot, outcome.Hopeless},
		"pool exhaustion": {redis.ErrPoolTimeout, outcome.Full},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			d := dispatch.New(s, &topology{load: func() error { return test.err }}, linger(0))
			for _, ctx := range []context.Context{context.Background(), t.Context()} {
				err := d.Do(ctx, "key", command(1), dispatch.ToMaster)
				require.ErrorIs(t, err, test.err)
				require.Equal(t, test.class, outcome.Of(err))
				_, err = d.Synced(ctx, "key", command(1), 1, time.Second)
				require.Equal(t, test.class, outcome.Of(err))
			}
			require.Empty(t, s.departures())
		})
	}
}

func TestALookUpThatHangsIsLeftAtTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(newServer(), &topology{load: func() error { time.Sleep(5 * time.Second); return os.ErrDeadlineExceeded }}, linger(0))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err := d.Do(ctx, "key", command(1), dispatch.ToMaster)
		require.Equal(t, time.Second, time.Since(begin))
		var unsent *outcome.Unsent
		require.ErrorAs(t, err, &unsent)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(5 * time.Second) // the look-up itself ends by the client's own limits
	})
}

func TestFollowGoesThroughTheClusterClientAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		d := dispatch.New(s, &topology{load: func() error { panic("not asked for") }}, linger(0))
		cmd := command(1)
		require.NoError(t, d.Do(t.Context(), "key", cmd, dispatch.Follow))
		require.EqualValues(t, 1, cmd.Val())

		ctx, cancel := context.WithTimeout(t.Context(), rtt/2)
		defer cancel()
		begin := time.Now()
		err := d.Do(ctx, "key", command(2), dispatch.Follow)
		require.Equal(t, rtt/2, time.Since(begin))
		var flight *dispatch.InFlight
		require.ErrorAs(t, err, &flight)
		require.EqualValues(t, 2, ended(t, flight).Val())
	})
}

// A restless cluster has another master each time.
type restless struct{}

func (c restless) ReloadState(context.Context) {}

func (c restless) MasterForKey(context.Context, string) (*redis.Client, error) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("gone") }
	// The look-up of a host name in a bubble would end the process at the next one outside.
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1, Dialer: dial})
	return client, client.Close()
}

func TestMastersThatHaveLeftAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(newServer(), restless{}, linger(0))
		for range 20 {
			for range 3 {
				require.ErrorIs(t, d.Do(context.Background(), "key", command(1), dispatch.ToMaster), redis.ErrClosed)
			}
			require.LessOrEqual(t, d.Masters(), 9)
			time.Sleep(40 * time.Second)
		}
	})
}

func TestReloadAsksOnlyACluster(t *testing.T) {
	dispatch.New(newServer(), nil, linger(0)).Reload(t.Context())
	c := &topology{}
	dispatch.New(newServer(), c, linger(0)).Reload(t.Context())
	require.Equal(t, 1, c.reloads)
}

func TestCommandsOfAClusterGoToTheMasterOfTheirKey(t *testing.T) {
	cluster := redistest.Cluster(t, 3, 0)
	client := cluster.Client(t)
	d := dispatch.New(client, client, linger(0))
	before := make([]int64, 3)
	for i := range before {
		before[i] = cluster.Node(i).CommandStats(t)["incr"]
	}
	var failed []error
	results := make(chan error)
	const keys = 120
	for i := range keys {
		go func() {
			key := fmt.Sprint("key", i)
			results <- d.Do(t.Context(), key, redis.NewIntCmd(context.Background(), "incr", key), dispatch.ToMaster)
		}()
	}
	for range keys {
		if err := <-results; err != nil {
			failed = append(failed, err)
		}
	}
	require.Empty(t, failed, "a command at the wrong node would have been MOVED")
	var sum int64
	for i := range before {
		n := cluster.Node(i).CommandStats(t)["incr"] - before[i]
		require.Positive(t, n, "node %d had nothing to do", i)
		sum += n
	}
	require.EqualValues(t, keys, sum)
	require.NoError(t, d.Do(t.Context(), "k", redis.NewIntCmd(context.Background(), "incr", "k"), dispatch.Follow))
}

func TestSyncedCountsTheReplicasThatHaveThisVeryWrite(t *testing.T) {
	cluster := redistest.Cluster(t, 3, 1)
	client := cluster.Client(t)
	for name, d := range map[string]*dispatch.Dispatcher{
		"cluster": dispatch.New(client, client, linger(0)),
		"single":  dispatch.New(cluster.Node(0).Client(t), nil, linger(0)),
	} {
		// "b" is in the slots of node 0: CLUSTER KEYSLOT b is 3300.
		cmd := redis.NewIntCmd(context.Background(), "incr", "b")
		wait, err := d.Synced(t.Context(), "b", cmd, 1, time.Second)
		require.NoError(t, err, name)
		require.NoError(t, wait.Err(), name)
		require.EqualValues(t, 1, wait.Val(), name)
	}
	stopped := cluster.Node(3) // the replica of node 0
	stopped.Stop()
	defer stopped.Continue()
	d := dispatch.New(client, client, linger(0))
	wait, err := d.Synced(t.Context(), "b", redis.NewIntCmd(context.Background(), "incr", "b"), 1, 100*time.Millisecond)
	require.NoError(t, err)
	require.Zero(t, wait.Val())
}
