package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A command that only shows something shows what is so, or nothing.

func TestOneNodeOfAClusterIsNoView(t *testing.T) {
	servers := redistest.Cluster(t, 3, 0)
	hold, err := rlock.New(servers.Client(t), "orders:42").Lock(t.Context())
	require.NoError(t, err)
	for _, addr := range servers.Addrs() {
		for _, args := range [][]string{
			{"ls"}, {"ls", "-o", "json"}, {"top", "--once"}, {"top"}, {"inspect", "orders:42"}, {"inspect", "orders:43"}, {"inspect", "orders:44"},
			{"unlock", "orders:42", "--owner", hold.Owner(), "--reason", "x"}, {"unlock", "orders:43", "--owner", hold.Owner(), "--reason", "x"},
		} {
			code, stdout, stderr := use(append(args, "--url", "redis://"+addr)...)
			require.Equal(t, exit.Unavailable, code, "%v: %s", args, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "connect by redis+cluster://", args)
		}
		elsewhere := 0
		for i := range 9 { // of so many names each node has some and none has all
			name := fmt.Sprint("import:", i)
			code, _, stderr := use("countdown", name, "--set", "2", "--url", "redis://"+addr)
			if code != exit.OK {
				elsewhere++
				require.Equal(t, exit.Unavailable, code, stderr)
				require.Contains(t, stderr, "connect by redis+cluster://")
			}
			require.NoError(t, servers.Client(t).Del(t.Context(), name).Err())
		}
		require.Positive(t, elsewhere)
	}
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestAReplicaIsNoView(t *testing.T) {
	master, replica := redistest.Replicated(t)
	hold, err := rlock.New(master.Client(t), "orders:42").Lock(t.Context())
	require.NoError(t, err)
	for _, args := range [][]string{{"ls"}, {"ls", "-o", "json"}, {"top", "--once"}, {"top"}, {"inspect", "orders:42"}} {
		code, stdout, stderr := use(append(args, "--url", "redis://"+replica.Addr)...)
		require.Equal(t, exit.Unavailable, code, "%v: %s", args, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, replica.Addr+": what it shows may be old: the server is a replica, so connect to its master")
	}
	require.Contains(t, show(t, "redis://"+master.Addr, "ls"), "orders:42")
	require.NoError(t, hold.Unlock(t.Context()))
}

// Where Redis keeps something else under the name, the text says so in its own words, and not in those of a
// script of the server.
func TestTheTextForAnotherTypeIsNotTheServersOwn(t *testing.T) {
	server := redistest.Real(t)
	name := server.Key(t, "list")
	require.NoError(t, server.Client(t).LPush(t.Context(), name, "x").Err())
	for _, args := range [][]string{
		{"run", "-n", name, "--", "true"}, {"run", "-n", "-s", name, "--", "true"}, {"run", "-n", "-N", "3", name, "--", "true"},
		{"wait", name}, {"countdown", name}, {"permits", name, "--set", "2"},
	} {
		code, _, stderr := use(append(args[:1:1], append([]string{"--url", "redis://" + server.Addr}, args[1:]...)...)...)
		require.Equal(t, exit.WrongKind, code, "%v: %s", args, stderr)
		require.NotContains(t, stderr, "WRONGTYPE", args)
		require.NotContains(t, stderr, "script", args)
	}
}
