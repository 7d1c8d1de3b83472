package servers

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A Sentinel is a master with one replica and the three sentinels that watch them.
type Sentinel struct {
	MasterName string // as the sentinels call it
	Master     *Server
	Replica    *Server
	Sentinels  []*Server
}

// StartSentinel returns such a group, when the sentinels know one another and the replica. They replace a master one
// second after it falls silent. args are added to the command lines of master and replica.
func StartSentinel(args ...string) (*Sentinel, error) {
	s := &Sentinel{MasterName: "main"}
	if err := s.start(args); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sentinel) start(args []string) (err error) {
	if s.Master, s.Replica, err = StartReplicated(args...); err != nil {
		return err
	}
	configuration := fmt.Sprintf("sentinel monitor %[1]s 127.0.0.1 %[2]d 2\n"+
		"sentinel down-after-milliseconds %[1]s 1000\n"+
		"sentinel failover-timeout %[1]s 5000\n", s.MasterName, s.Master.port)
	for range 3 {
		// Each has a file of its own: a sentinel writes what it learns into it.
		sentinel, err := launch(configuration, "--sentinel")
		if err != nil {
			return err
		}
		s.Sentinels = append(s.Sentinels, sentinel)
	}
	for _, sentinel := range s.Sentinels {
		if err := sentinel.awaitPeers(s.MasterName); err != nil {
			return err
		}
	}
	return nil
}

// awaitPeers returns when this sentinel could take part in a failover.
func (s *Server) awaitPeers(master string) error {
	client := redis.NewSentinelClient(&redis.Options{Addr: s.Addr()})
	defer client.Close()
	ask := func(ctx context.Context) (string, error) {
		state, err := client.Master(ctx, master).Result()
		return fmt.Sprintf("flags=%s sentinels=%s replicas=%s", state["flags"], state["num-other-sentinels"], state["num-slaves"]), err
	}
	return s.poll("the sentinels to meet", ask, func(state string) bool { return state == "flags=master sentinels=2 replicas=1" })
}

// Addrs returns the addresses of the sentinels.
func (s *Sentinel) Addrs() []string { return addrs(s.Sentinels) }

// Client returns a client that follows the master, with the default options, after change. The caller closes it.
func (s *Sentinel) Client(change ...func(*redis.FailoverOptions)) *redis.Client {
	options := &redis.FailoverOptions{MasterName: s.MasterName, SentinelAddrs: s.Addrs()}
	for _, f := range change {
		f(options)
	}
	return redis.NewFailoverClient(options)
}

// Close closes the sentinels and the servers that they watch.
func (s *Sentinel) Close() error {
	return errors.Join(closeAll(s.Sentinels...), closeAll(s.Master, s.Replica))
}
