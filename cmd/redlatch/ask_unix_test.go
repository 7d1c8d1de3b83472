//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// shown waits until an entry of the registry names the holder.
func shown(t *testing.T, client redis.UniversalClient, name string) fleet.Holder {
	t.Helper()
	var h fleet.Holder
	require.Eventually(t, func() bool {
		object, err := fleet.Get(t.Context(), client, fleet.Detect, name)
		require.NoError(t, err)
		if len(object.Holders) == 1 {
			h = object.Holders[0]
		}
		return h.Client != nil
	}, 10*time.Second, 50*time.Millisecond)
	return h
}

func TestARunThatIsAskedEndsItsCommandAndOneWhoseCommandGoesOnKeepsTheLock(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	client, file := srv.Client(t), filepath.Join(t.TempDir(), "result")
	yields := runner(srv, "--result", file, "a", "-c", "trap 'exit 3' TERM; echo in; kill -STOP $$; while :; do sleep 0.05; done")
	begin(t, yields) // the command is stopped, and is continued when it is asked
	ignores := runner(srv, "-N", "1", "b", "-c", "trap '' TERM; echo in; while :; do sleep 0.05; done")
	begin(t, ignores)
	shown(t, client, "a")
	stubborn := shown(t, client, "b")

	asked := make(chan string, 1)
	go func() {
		_, stdout, _ := use("unlock", "b", "--ask", "7s", "--reason", "a hotfix", "-o", "json", "--url", "redis://"+srv.Addr)
		asked <- stdout
	}()
	text := ends(t, srv, exit.OK, "unlock", "a", "--ask", "1m", "--reason", "a\x1b[2J hotfix", "--by", "ada")
	require.Contains(t, text, "a: given back\n")
	_ = yields.Wait() // the exit code says it all
	require.Equal(t, exit.Asked, yields.ProcessState.ExitCode())
	require.Contains(t, yields.Stderr.(*bytes.Buffer).String(), "ada asks for the lock, and the command is asked to end: a?[2J hotfix")
	r := outcome(t, file)
	require.Equal(t, "asked", r.Outcome)
	require.Equal(t, 3, *r.ExitCode)

	var document unlockDocument
	text = <-asked
	require.NoError(t, json.Unmarshal([]byte(text), &document), text)
	require.False(t, document.Freed)
	require.Equal(t, []askedOwner{{Owner: stubborn.Owner, Answer: "held on"}}, document.Asked)
	object, err := fleet.Get(t.Context(), client, fleet.Detect, "b")
	require.NoError(t, err)
	require.Equal(t, stubborn.Owner, object.Holders[0].Owner)
	require.NoError(t, ignores.Process.Signal(os.Kill))
}

func TestUnlockAsksAProgramWhoseRegistryHasAPrefix(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	client := srv.Client(t)
	require.NoError(t, redlatch.Configure(client, redlatch.WithRegistry("tenant:")))
	hold, err := rlock.New(client, "a").Lock(t.Context())
	require.NoError(t, err)
	ask := func(more ...string) string {
		return ends(t, srv, exit.Failed, append([]string{"unlock", "a", "--ask", "1ms", "--reason", "x"}, more...)...)
	}
	redistest.Eventually(t, "the holder can be asked", func() bool {
		return strings.Contains(ask("--registry", "tenant:"), hold.Owner()+" was asked and has not heard")
	})
	require.Contains(t, ask(), "cannot be asked: its client has no entry")
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestWhoCannotBeAskedIsNotWaitedForAndTakenAwayFromOnlyWithForce(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	const java = "33333333-3333-4333-8333-333333333333:57"
	require.NoError(t, client.HSet(t.Context(), "a", java, 1).Err())
	text := ends(t, srv, exit.Failed, "unlock", "a", "--ask", "24h", "--reason", "x")
	require.Contains(t, text, java+" cannot be asked: its client has no entry")
	require.EqualValues(t, 1, client.Exists(t.Context(), "a").Val())
	text = ends(t, srv, exit.Failed, "unlock", "a", "--ask", "24h", "--reason", "x", "--owner", java)
	require.Contains(t, text, java+" cannot be asked: its client has no entry")
	require.EqualValues(t, 1, client.Exists(t.Context(), "a").Val())
	text = ends(t, srv, exit.Failed, "unlock", "a", "--ask", "24h", "--reason", "x", "--owner", "u:1", "--force")
	require.Contains(t, text, "a is not held by u:1; it is held by Redisson client "+java[:36]+" (owner "+java+")")
	text = ends(t, srv, exit.OK, "unlock", "a", "--ask", "24h", "--reason", "x", "--owner", java, "--force")
	require.Contains(t, text, "a: freed from Redisson client "+java[:36]+" (owner "+java+")")
	require.Contains(t, ends(t, srv, exit.Failed, "unlock", "a", "--ask", "24h", "--reason", "x"), "nobody holds it")
}
