//go:build unix

package main

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// holdersOf waits until entries of the registry name n holders, and returns their owners.
func holdersOf(t *testing.T, client redis.UniversalClient, name string, n int) (owners []string) {
	t.Helper()
	redistest.Eventually(t, name+" has holders with entries", func() bool {
		object, err := fleet.Get(t.Context(), client, fleet.Detect, name)
		require.NoError(t, err)
		owners = nil
		for _, h := range object.Holders {
			if h.Client != nil {
				owners = append(owners, h.Owner)
			}
		}
		return len(owners) == n
	})
	slices.Sort(owners)
	return owners
}

func TestUnlockAsksOneOfSeveralOwnersAloneAlsoOnACluster(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	servers := redistest.Cluster(t, 3, 0)
	client, url := servers.Client(t), "redis+cluster://"+strings.Join(servers.Addrs(), ",")
	start := func(args ...string) *exec.Cmd {
		cmd := runner(servers.Node(0), append(args, "-c", "trap 'exit 3' TERM; echo; while :; do sleep 0.05; done")...)
		cmd.Env = append(cmd.Env, connect.URLVariable+"="+url)
		begin(t, cmd)
		return cmd
	}
	plain, writer := start("lock"), start("-x", "writer")
	for range 2 {
		start("-s", "readers")
		start("-N", "2", "permits")
	}
	asked := make(chan struct{})
	fair, err := fairlock.New(servers.Client(t), "fair", redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventAsked {
			close(asked)
		}
	}))).Lock(t.Context())
	require.NoError(t, err)
	go func() {
		<-asked
		_ = fair.Unlock(context.Background())
	}()

	var asks sync.WaitGroup
	unlock := func(name string, args ...string) {
		asks.Go(func() {
			code, stdout, stderr := use(append([]string{"unlock", name, "--ask", "1m", "--reason", "a hotfix", "--url", url}, args...)...)
			if code != exit.OK || stdout != name+": given back\n" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s: %d\n%s%s", name, code, stdout, stderr)
			}
		})
	}
	for name, n := range map[string]int{"lock": 1, "writer": 1, "fair": 1, "readers": 2, "permits": 2} {
		owners := holdersOf(t, client, name, n)
		if n == 1 {
			unlock(name)
		} else {
			unlock(name, "--owner", owners[0])
			defer func() {
				require.Equal(t, owners[1:], holdersOf(t, client, name, 1), "the other one of the %s was not asked", name)
			}()
		}
	}
	asks.Wait()
	for _, cmd := range []*exec.Cmd{plain, writer} {
		_ = cmd.Wait() // the exit code says it all
		require.Equal(t, exit.Asked, cmd.ProcessState.ExitCode())
	}
}

func TestAnOwnerThatIsAskedInVainLosesTheLockByForceOnly(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	client := srv.Client(t)
	for range 2 {
		begin(t, runner(srv, "-s", "a", "-c", "echo; exec sleep 100"))
	}
	owners := holdersOf(t, client, "a", 2)
	text := ends(t, srv, exit.Failed, "unlock", "a", "--ask", "1ms", "--reason", "x", "--owner", owners[0])
	require.Contains(t, text, owners[0]+" was asked and has not heard")
	require.Equal(t, owners, holdersOf(t, client, "a", 2))
	text = ends(t, srv, exit.OK, "unlock", "a", "--ask", "1ms", "--reason", "x", "--owner", owners[0], "--force")
	require.Regexp(t, `a: freed from .* pid \d+ \(owner `+owners[0]+`\)`, text)
	require.Equal(t, owners[1:], holdersOf(t, client, "a", 1))
	require.Contains(t, ends(t, srv, exit.Failed, "unlock", "a", "--ask", "1s", "--reason", "x", "--owner", owners[0]), "is not held by "+owners[0])
}
