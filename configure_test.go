package redlatch_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// here is the file and line of the call that is made there.
func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

func TestASecondPackageCannotRenameTheHoldsOfTheFirst(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	first := here()
	require.NoError(t, redlatch.Configure(client, redlatch.WithLabel("billing"), redlatch.WithoutRegistry(), nil)) // the line after
	require.NoError(t, redlatch.Configure(client, redlatch.WithLabel("billing")))
	rlock.New(client, "orders")
	second := here()
	err := redlatch.Configure(client, redlatch.WithLabel("invoices")) // the line after
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	for _, place := range []string{first, second} {
		file, line := filepath.Base("configure_test.go"), 0
		_, scanned := fmt.Sscanf(place, file+":%d", &line)
		require.NoError(t, scanned)
		require.ErrorContains(t, err, fmt.Sprintf("%s:%d", file, line+1))
	}
	require.ErrorContains(t, err, "WithLabel")
	require.ErrorIs(t, redlatch.Configure(client, redlatch.WithRegistry("")), redlatch.ErrInvalid, "another than without")
}

func TestABadValueOfAClientIsRefusedAndNothingOfTheCallCounts(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	for say, bad := range map[string]redlatch.ClientOption{
		"WithLinger(-1ns): zero or more": redlatch.WithLinger(-1), "a prefix has no braces": redlatch.WithRegistry("{a}"),
	} {
		err := redlatch.Configure(client, redlatch.WithLabel(say), bad)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.ErrorContains(t, err, say)
	}
	require.NoError(t, redlatch.Configure(client, redlatch.WithLabel("x"), redlatch.WithLinger(0), redlatch.WithRegistry("a:"),
		redlatch.WithCluster(), redlatch.WithShardedPubSub(false)))
	require.NoError(t, redlatch.Configure(client))
	require.ErrorIs(t, redlatch.Configure(nil), redlatch.ErrInvalid)
}
