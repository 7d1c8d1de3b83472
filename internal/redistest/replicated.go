package redistest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// replication makes a full copy start at once; the default waits five seconds for a second replica to share it.
var replication = []string{"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"}

// Replicated returns a master and its replica, both processes of the test's own, when the replica is online.
func Replicated(tb testing.TB) (master, replica *Server) {
	tb.Helper()
	requireProgram(tb)
	master = launch(tb, replication...)
	replica = launch(tb, slices.Concat(replication, []string{"--replicaof", "127.0.0.1", fmt.Sprint(master.process.port)})...)
	replica.awaitReplica()
	master.await("its replica to be online", "replication", func(info string) bool {
		return strings.Contains(info, "state=online")
	})
	return master, replica
}

// awaitReplica returns when this server is a replica that has copied its master's data.
func (s *Server) awaitReplica() {
	s.tb.Helper()
	s.await("it to follow its master", "replication", func(info string) bool {
		return strings.Contains(info, "master_link_status:up")
	})
}

// await polls a section of the server's INFO until it says what we wait for.
func (s *Server) await(what, section string, says func(info string) bool) {
	s.tb.Helper()
	s.poll(what, func(ctx context.Context) (string, error) { return s.admin.Info(ctx, section).Result() }, says)
}

// poll asks until the answer says what we wait for.
func (s *Server) poll(what string, ask func(context.Context) (string, error), says func(answer string) bool) {
	s.tb.Helper()
	deadline := time.Now().Add(patience)
	for {
		answer, err := ask(context.Background())
		if err == nil && says(answer) {
			return
		}
		if time.Now().After(deadline) {
			s.tb.Fatalf("redistest: waited %v at %s for %s; last answer (error %v):\n%s", patience, s.Addr, what, err, answer)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
