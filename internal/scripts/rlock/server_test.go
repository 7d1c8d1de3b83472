package rlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

func TestAFullServerAcceptsReleaseRenewalAndForce(t *testing.T) {
	ctx := t.Context()
	client := redistest.Process(t, "--maxmemory-policy", "noeviction").Client(t)
	for _, name := range []string{"{f}1", "{f}2"} {
		attempt, err := Send(ctx, client, rlock.Acquire(name, a, lease))
		require.NoError(t, err)
		require.True(t, attempt.Held)
	}
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())

	_, err := Send(ctx, client, rlock.Acquire("{f}3", a, lease))
	require.ErrorContains(t, err, "OOM", "the server should be full")

	alive, err := Send(ctx, client, Alive(rlock.Renew([]rlock.Renewal{{Key: "{f}1", Owner: a, Lease: long}})))
	require.NoError(t, err)
	require.Equal(t, []bool{true}, alive)
	released, err := Send(ctx, client, rlock.Release("{f}1", a, wake))
	require.NoError(t, err)
	require.True(t, released)
	forced, err := Send(ctx, client, rlock.Force("{f}2", wake))
	require.NoError(t, err)
	require.True(t, forced)
	require.Empty(t, client.Keys(ctx, "*").Val())
}

// A renewal that may not look must not say that the lock is lost.
func TestRenewalWithoutPermissionIsAnErrorAndNotALoss(t *testing.T) {
	ctx := t.Context()
	server := redistest.Process(t)
	admin, client := server.Client(t), server.User(t, "-hexists")
	require.NoError(t, admin.HSet(ctx, key, a, "1").Err())

	alive, err := Send(ctx, client, Alive(rlock.Renew([]rlock.Renewal{{Key: key, Owner: a, Lease: lease}})))
	var refusal redis.Error // the server's own words differ from version to version
	require.ErrorAs(t, err, &refusal, "answered %v", alive)
}

// The message goes by the command that the wake names. A stand-alone server delivers sharded messages too.
func TestAReleaseCanPublishToAShard(t *testing.T) {
	ctx := t.Context()
	server := redistest.Process(t)
	server.Needs(t, servers.ShardedChannels)
	client := server.Client(t)
	sharded := scripts.Wake{Publish: "SPUBLISH", Channel: channel}
	for name, end := range map[string]scripts.Command[bool]{
		"release": rlock.Release(key, a, sharded),
		"force":   rlock.Force(key, sharded),
	} {
		t.Run(name, func(t *testing.T) {
			ear := client.SSubscribe(ctx, channel)
			defer func() { require.NoError(t, ear.Close()) }()
			_, err := ear.ReceiveTimeout(ctx, time.Minute)
			require.NoError(t, err)

			_, err = Send(ctx, client, rlock.Acquire(key, a, lease))
			require.NoError(t, err)
			ended, err := Send(ctx, client, end)
			require.NoError(t, err)
			require.True(t, ended)
			event, err := ear.ReceiveTimeout(ctx, time.Minute)
			require.NoError(t, err)
			require.Equal(t, &redis.Message{Channel: channel, Payload: "0"}, event)
		})
	}
}
