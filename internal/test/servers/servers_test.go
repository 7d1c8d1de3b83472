package servers_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// program skips the test, or fails it, where no server can be started.
func program(t *testing.T) { t.Helper(); redistest.RequireProgram(t) }

func TestAServerEndsWithCloseAndLeavesNothing(t *testing.T) {
	program(t)
	s, err := servers.Start()
	ok(t, err)
	ok(t, s.Admin().Set(t.Context(), "k", "v", 0).Err())
	ok(t, s.Stop()) // a stopped one ends too
	ok(t, s.Close())
	gone(t, s)
	ok(t, s.Close())
	for _, act := range []func() error{s.Stop, s.Continue, s.Kill, s.Restart} {
		if err := act(); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a closed server was told something: %v", err)
		}
	}
}

func gone(t *testing.T, s *servers.Server) {
	t.Helper()
	if conn, err := net.Dial("tcp", s.Addr()); err == nil {
		_ = conn.Close()
		t.Errorf("%s still listens", s.Addr())
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", s.Dir(), err)
	}
}

func TestTopologiesEndWithClose(t *testing.T) {
	t.Parallel()
	program(t)
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster, err := servers.StartCluster(3, 0, "--appendonly", "yes")
		ok(t, err)
		client := cluster.Client()
		ok(t, client.Set(t.Context(), "k", "v", 0).Err())
		ok(t, client.Close())
		ok(t, cluster.Close())
		for _, node := range cluster.Nodes() {
			gone(t, node)
		}
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		group, err := servers.StartSentinel()
		ok(t, err)
		client := group.Client()
		ok(t, client.Set(t.Context(), "k", "v", 0).Err())
		ok(t, client.Close())
		ok(t, group.Close())
		for _, s := range append(group.Sentinels, group.Master, group.Replica) {
			gone(t, s)
		}
	})
}

func TestAnArgumentOfMineWins(t *testing.T) {
	program(t)
	s, err := servers.Start("--appendonly", "yes")
	ok(t, err)
	defer s.Close()
	ok(t, s.Admin().Set(t.Context(), "k", "v", 0).Err())
	ok(t, s.Restart())
	if got := s.Admin().Get(t.Context(), "k").Val(); got != "v" {
		t.Fatalf("after a restart k is %q", got)
	}
}

func TestWhatTheServerSaysIsInTheError(t *testing.T) {
	program(t)
	_, err := servers.Start("--no-such-option", "1")
	if err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Fatalf("the error is %v", err)
	}
}

func TestWithoutAProgramTheErrorSaysWhatToDo(t *testing.T) {
	t.Setenv(servers.Variable, "/no/such/server")
	_, err := servers.Start()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), servers.Variable) {
		t.Fatalf("the error is %v", err)
	}
	_, cluster := servers.StartCluster(1, 0)
	_, sentinel := servers.StartSentinel()
	_, _, replicated := servers.StartReplicated()
	for _, err := range []error{cluster, sentinel, replicated} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the error is %v", err)
		}
	}
}
