package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// ends runs the command on a server and wants this exit code. It returns both outputs.
func ends(t *testing.T, srv *redistest.Server, code int, args ...string) (output string) {
	t.Helper()
	got, stdout, stderr := use(append(args, "--url", "redis://"+srv.Addr)...)
	require.Equal(t, code, got, "%s%s", stdout, stderr)
	return stdout + stderr
}

func TestALatchIsSetCountedDownAndWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		require.Contains(t, ends(t, srv, exit.Failed, "countdown", "import"), "nothing was counted")
		require.Equal(t, "import: 2 to go\n", ends(t, srv, exit.OK, "countdown", "import", "--set", "2", "--ttl", "1h"))
		require.Contains(t, ends(t, srv, exit.Failed, "countdown", "import", "--set", "3"), "with 2 to go")
		require.Contains(t, ends(t, srv, exit.Busy, "wait", "import", "-w", "0.1"), "closed")
		require.Equal(t, "import: 1 to go\n", ends(t, srv, exit.OK, "countdown", "import"))
		require.Equal(t, "import: 1 to go\n", ends(t, srv, exit.OK, "countdown", "import", "--show"))

		waiter := exec.Command(binary, "wait", "import", "-o", "json", "--url", "redis://"+srv.Addr)
		var out strings.Builder
		waiter.Stdout = &out
		require.NoError(t, waiter.Start())
		require.Equal(t, "import: open\n", ends(t, srv, exit.OK, "countdown", "import"))
		require.NoError(t, waiter.Wait())
		require.JSONEq(t, `{"schema": "redlatch.latch/1", "name": "import", "name_base64": "aW1wb3J0", "count": 0, "open": true}`, out.String())
		require.Equal(t, "import: open\n", ends(t, srv, exit.OK, "wait", "import"))
	})
}

func TestALatchThatEndsOtherwiseFailsTheWait(t *testing.T) {
	srv := redistest.Mini(t)
	ends(t, srv, exit.OK, "countdown", "import", "--set", "2")
	_, err := countdownlatch.New(srv.Client(t), "import").Delete(context.Background())
	require.NoError(t, err)
	require.Contains(t, ends(t, srv, exit.Failed, "wait", "import"), "deleted")
	require.Contains(t, ends(t, srv, exit.Failed, "wait", "a b"),
		`latch "a b" was never set, or has been over for more than a day; "redlatch countdown 'a b' --set N" sets it`)
}

func TestAnInterruptedWaitSaysByWhatSignal(t *testing.T) {
	srv := redistest.Mini(t)
	ends(t, srv, exit.OK, "countdown", "import", "--set", "2")
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: exit.Interrupted, syscall.SIGTERM: exit.Terminated} {
		waiter := exec.Command(binary, "wait", "import", "--url", "redis://"+srv.Addr)
		require.NoError(t, waiter.Start())
		redistest.Eventually(t, "a subscription", func() bool {
			return len(srv.Client(t).PubSubChannels(context.Background(), "*").Val()) > 0
		})
		require.NoError(t, waiter.Process.Signal(signal))
		require.Error(t, waiter.Wait())
		require.Equal(t, code, waiter.ProcessState.ExitCode())
		redistest.Eventually(t, "it has left", func() bool {
			return len(srv.Client(t).PubSubChannels(context.Background(), "*").Val()) == 0
		})
	}
}

func TestPermitsAreShownSetAndChanged(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		require.Equal(t, "pool: not set\n", ends(t, srv, exit.OK, "permits", "pool"))
		require.Equal(t, "pool: 3 available\n", ends(t, srv, exit.OK, "permits", "pool", "--set", "3"))
		require.Contains(t, ends(t, srv, exit.Failed, "permits", "pool", "--set", "4"), "--add")
		require.Equal(t, "pool: 1 available\n", ends(t, srv, exit.OK, "permits", "pool", "--add=-2"))

		require.Equal(t, "ids: 3 available of 3\n", ends(t, srv, exit.OK, "permits", "ids", "--set", "3", "--ids"))
		permit, err := permitsemaphore.New(srv.Client(t), "ids").TryAcquire(context.Background(), 1)
		require.NoError(t, err)
		var shown permitsDocument
		require.NoError(t, json.Unmarshal([]byte(ends(t, srv, exit.OK, "permits", "ids", "--add", "2", "-o", "json")), &shown))
		require.Equal(t, "permit_semaphore", string(shown.Kind), "told by what is beside the key")
		require.EqualValues(t, 4, shown.Available)
		require.EqualValues(t, 5, *shown.Total)
		require.NoError(t, permit.Release(context.Background()))
	})
}

func TestANameOfAnotherKindIsNotTouched(t *testing.T) {
	srv := redistest.Mini(t)
	client, ctx := srv.Client(t), context.Background()
	require.NoError(t, client.HSet(ctx, "orders", "0b33ad56-d2d6-8c5f-9d4a-111111111111:1", 1).Err())
	require.NoError(t, client.RPush(ctx, "list", "x").Err())
	require.NoError(t, client.Set(ctx, "text", "x", 0).Err())
	for _, name := range []string{"orders", "list", "text"} {
		ends(t, srv, exit.WrongKind, "permits", name, "--set", "3")
		ends(t, srv, exit.WrongKind, "permits", name)
		ends(t, srv, exit.WrongKind, "countdown", name)
		ends(t, srv, exit.WrongKind, "wait", name, "-w", "1")
	}
	require.EqualValues(t, 1, client.HLen(ctx, "orders").Val())
}

func TestFlagsOfCountersThatMakeNoSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"countdown", "x", "--set=-1"}, {"countdown", "x", "--set", "0"}, {"countdown", "x", "--set", "1", "--show"},
		{"countdown", "x", "--ttl", "1h"}, {"countdown", "x", "--set", "1", "--ttl", "0s"}, {"countdown", "x", "--show", "--ttl", "1h"},
		{"permits", "x", "--set", "-1"}, {"permits", "x", "--set", "1", "--add", "1"}, {"permits"}, {"wait"}, {"wait", "x", "-w", "soon"},
	} {
		code, _, stderr := use(args...)
		require.Equal(t, exit.Usage, code, "%v: %s", args, stderr)
	}
	ends(t, redistest.Mini(t), exit.Usage, "countdown", "")
}
