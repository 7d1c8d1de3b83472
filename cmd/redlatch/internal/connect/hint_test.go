package connect_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

// pinged is the error of a Ping of this server.
func pinged(t *testing.T, listener net.Listener, patience time.Duration) error {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := connect.Ping(ctx, client)
	require.Equal(t, exit.Unavailable, exit.Code(err))
	return err
}

// Where TLS is spoken on one side only, the server closes the connection, or waits for ever.
func TestAnErrorThatTLSMayBeBehindSaysSo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	require.ErrorContains(t, pinged(t, listener, 50*time.Millisecond), "no answer (context deadline exceeded); see that it is a Redis server, and that it speaks TLS")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096)) // what is not read would make a reset of the end
			_ = conn.Close()
		}
	}()
	require.ErrorContains(t, pinged(t, listener, 10*time.Second), "the server has closed the connection (EOF); if the server wants TLS, the URL begins with rediss://")
}

// reply is an error in the words of a server.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestWhoHasConnectedToTheWrongPlaceIsToldTheRightOne(t *testing.T) {
	for says, err := range map[string]error{
		"redis+cluster://":       reply("MOVED 3432 127.0.0.1:7101"),
		"its master":             reply("READONLY You can't write against a read only replica."),
		"wants TLS":              exit.With(exit.Unavailable, io.EOF),
		"that it speaks TLS":     fmt.Errorf("%w: %w", redlatch.ErrUnavailable, context.DeadlineExceeded),
		"no master of that name": fmt.Errorf("redis: all sentinels specified in configuration are unreachable: %w", redis.Nil),
	} {
		require.Contains(t, connect.Advice(fmt.Errorf("lock \"n\": %w", err)), says)
	}
	require.Empty(t, connect.Advice(reply("LOADING Redis is loading the dataset in memory")))
	require.Empty(t, connect.Advice(redis.Nil))
	require.Empty(t, connect.Advice(fmt.Errorf("%w: %w", redlatch.ErrNotAcquired, context.DeadlineExceeded)), "the lock is taken")
	require.Empty(t, connect.Advice(fmt.Errorf("%w: %w", context.DeadlineExceeded, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})), "there is no server")
}
