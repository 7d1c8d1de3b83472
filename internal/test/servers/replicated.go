package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// replication makes a full copy start at once, where the default waits five seconds for a second replica to share it,
// and leaves no half-written snapshot behind where the master is killed.
var replication = []string{"--save", "", "--appendonly", "no", "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"}

// StartReplicated returns a master and its replica, when the replica is online. args are added to both command lines.
func StartReplicated(args ...string) (master, replica *Server, err error) {
	args = slices.Concat(replication, args)
	if master, err = launch("", args...); err != nil {
		return nil, nil, err
	}
	replica, err = launch("", append(args, "--replicaof", "127.0.0.1", fmt.Sprint(master.port))...)
	if err == nil {
		err = replica.awaitReplica()
	}
	if err == nil {
		err = master.await("its replica to be online", "replication", func(info string) bool {
			return strings.Contains(info, "state=online")
		})
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll(master, replica))
	}
	return master, replica, nil
}

// closeAll closes those of the servers that were started.
func closeAll(servers ...*Server) error {
	var problems []error
	for _, s := range servers {
		if s != nil {
			problems = append(problems, s.Close())
		}
	}
	return errors.Join(problems...)
}

// awaitReplica returns when this server is a replica that has copied its master's data.
func (s *Server) awaitReplica() error {
	return s.await("it to follow its master", "replication", func(info string) bool {
		return strings.Contains(info, "master_link_status:up")
	})
}

// await polls a section of the server's INFO until it says what we wait for.
func (s *Server) await(what, section string, says func(info string) bool) error {
	return s.poll(what, func(ctx context.Context) (string, error) { return s.admin.Info(ctx, section).Result() }, says)
}

// poll asks until the answer says what we wait for.
func (s *Server) poll(what string, ask func(context.Context) (string, error), says func(answer string) bool) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		answer, err := ask(context.Background())
		if err == nil && says(answer) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("servers: waited %v at %s for %s; last answer (error %v):\n%s", patience, s.Addr(), what, err, answer)
		}
	}
}
