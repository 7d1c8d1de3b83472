package suite_test

import (
	"context"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// The client library dials for half a second before it says that it cannot connect. A call's context may end
// before that. The call's error has the network's error all the same, also that of a client's first call.
func TestACallThatEndsWhileTheClientCannotConnectSaysWhy(t *testing.T) {
	unused := redis.NewClient(&redis.Options{Addr: "nowhere"})
	all := cells(unused)
	require.NoError(t, unused.Close())
	for _, primitive := range all {
		for _, call := range callForms {
			if primitive.try == nil && call.name == "`Try…`" {
				continue
			}
			t.Run(primitive.name+"/"+call.name, func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					rdb := redis.NewClient(&redis.Options{Addr: "nowhere", Dialer: func(context.Context, string, string) (net.Conn, error) {
						time.Sleep(time.Millisecond)
						return nil, dialed(syscall.ECONNREFUSED)
					}})
					defer func() {
						time.Sleep(5 * time.Minute) // what is in doubt is settled
						require.NoError(t, rdb.Close())
						time.Sleep(time.Minute)
					}()
					of := cells(rdb)
					c := of[slices.IndexFunc(of, func(c cell) bool { return c.name == primitive.name })]
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					err := call.make(ctx, c)
					require.ErrorIs(t, err, redlatch.ErrUnavailable)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorIs(t, err, syscall.ECONNREFUSED)
				})
			})
		}
	}
}
