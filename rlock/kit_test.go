package rlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// patience bounds every wait on a real clock. Nothing is asserted about how much of it was used.
const patience = 30 * time.Second

var (
	quiet, with, cancellable = locktest.Quiet, locktest.With, locktest.Cancellable
	take, eventually         = locktest.Take, redistest.Eventually
)

// count is the hold count that Redis has for an owner.
func count(t *testing.T, client *redis.Client, key, owner string) int {
	t.Helper()
	n, err := client.HGet(t.Context(), key, owner).Int()
	if err != redis.Nil {
		require.NoError(t, err)
	}
	return n
}

// direct is a client that is not the one under test.
func direct(t *testing.T, srv *redistest.Server) *redis.Client { return srv.Client(t) }
