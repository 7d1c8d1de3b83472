package redlatchtest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlatchtest"
)

// once makes a client that sends each command once, and waits for its answer for so long.
func once(t *testing.T, server *redlatchtest.Server, patience time.Duration) *redis.Client {
	t.Helper()
	options := server.Options()
	options.ReadTimeout, options.MaxRetries = patience, -1
	return newClient(t, options)
}

// counted is the number of n, or 0.
func counted(t *testing.T, client *redis.Client) int64 {
	n, _ := client.Get(t.Context(), "n").Int64()
	return n
}

func TestCutConnectionsEndAndWhatWasSentOnThemIsExecuted(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		conn := once(t, server, time.Minute).Conn()
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.Ping(t.Context()).Err())
		resume := server.Hang()
		done := make(chan error, 1)
		go func() { done <- conn.Incr(t.Context(), "n").Err() }()
		redistest.Eventually(t, "the command is sent", func() bool { return server.Seen("INCR") == 1 })
		server.CutConnections()
		require.ErrorContains(t, <-done, "EOF")
		resume()
		other := once(t, server, time.Minute)
		redistest.Eventually(t, "the command is executed", func() bool { return counted(t, other) == 1 })
	})
}

func TestAConnectionThatIsMadeWhileTheServerHangsIsAnsweredWhenItGoesOn(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		resume := server.Hang()
		done := make(chan error, 1)
		go func() { done <- once(t, server, time.Minute).Incr(t.Context(), "n").Err() }()
		select {
		case err := <-done:
			t.Fatalf("it has answered: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		resume()
		require.NoError(t, <-done)
	})
}

func TestAServerThatHangsExecutesWhatAClientHasGivenUpOn(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		hasty := once(t, server, 100*time.Millisecond)
		require.NoError(t, hasty.Ping(t.Context()).Err())
		resume := server.Hang()
		require.ErrorContains(t, hasty.Incr(t.Context(), "n").Err(), "timeout")
		resume()
		other := once(t, server, time.Minute)
		redistest.Eventually(t, "the command is executed", func() bool { return counted(t, other) == 1 })
	})
}

func TestConnectionsOfAServerThatGoesDownEnd(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		client := once(t, server, time.Minute)
		conn := client.Conn()
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.Incr(t.Context(), "n").Err())
		up := server.Down()
		require.Error(t, conn.Ping(t.Context()).Err(), "its connection")
		require.ErrorContains(t, client.Ping(t.Context()).Err(), "refused", "a new one")
		up()
		require.EqualValues(t, 1, counted(t, client))
	})
}
