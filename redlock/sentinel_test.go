package redlock_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlock"
)

// A client made for Sentinel has one address for whatever it is connected to, by the client library's custom. Two of them
// are two servers to a redlock, which must not take that address for the same server.
func TestClientsForSentinelAreNotTakenForOneServer(t *testing.T) {
	var clients []redlatch.Client
	for _, master := range []string{"one", "two", "three"} {
		client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: master, SentinelAddrs: []string{"127.0.0.1:1"}})
		t.Cleanup(func() { _ = client.Close() })
		clients = append(clients, client)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no server is asked
	_, err := redlock.New(clients, "lock").TryLock(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, redlatch.ErrInvalid)
	_, err = redlock.New(append(clients[:2:2], clients[0]), "lock").TryLock(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
}
