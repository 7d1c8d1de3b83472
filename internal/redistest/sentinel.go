package redistest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
)

// SentinelServers is a master with one replica and the three sentinels that watch them.
type SentinelServers struct {
	MasterName string // as the sentinels call it
	Master     *Server
	Replica    *Server
	Sentinels  []*Server
}

// Sentinel returns such a group of processes of the test's own, when the sentinels know one another and the replica.
// They replace a master one second after it falls silent.
func Sentinel(tb testing.TB) *SentinelServers {
	tb.Helper()
	s := &SentinelServers{MasterName: "main"}
	s.Master, s.Replica = Replicated(tb)
	config := fmt.Sprintf("sentinel monitor %[1]s 127.0.0.1 %[2]d 2\n"+
		"sentinel down-after-milliseconds %[1]s 1000\n"+
		"sentinel failover-timeout %[1]s 5000\n", s.MasterName, s.Master.process.port)
	for range 3 {
		// Each has a file of its own: a sentinel writes what it learns into it.
		path := filepath.Join(tb.TempDir(), "sentinel.conf")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			tb.Fatalf("redistest: write a sentinel's configuration: %v", err)
		}
		s.Sentinels = append(s.Sentinels, launch(tb, path, "--sentinel"))
	}
	for _, sentinel := range s.Sentinels {
		sentinel.awaitPeers(s.MasterName)
	}
	return s
}

// awaitPeers returns when this sentinel could take part in a failover.
func (s *Server) awaitPeers(master string) {
	s.tb.Helper()
	client := redis.NewSentinelClient(&redis.Options{Addr: s.Addr})
	defer client.Close()
	ask := func(ctx context.Context) (string, error) {
		state, err := client.Master(ctx, master).Result()
		return fmt.Sprintf("flags=%s sentinels=%s replicas=%s", state["flags"], state["num-other-sentinels"], state["num-slaves"]), err
	}
	s.poll("the sentinels to meet", ask, func(state string) bool { return state == "flags=master sentinels=2 replicas=1" })
}

// Addrs returns the addresses of the sentinels.
func (s *SentinelServers) Addrs() []string {
	var addrs []string
	for _, sentinel := range s.Sentinels {
		addrs = append(addrs, sentinel.Addr)
	}
	return addrs
}

// Client returns a client that follows the master, with the default options, after change, closed with the test.
func (s *SentinelServers) Client(tb testing.TB, change ...func(*redis.FailoverOptions)) *redis.Client {
	tb.Helper()
	options := &redis.FailoverOptions{MasterName: s.MasterName, SentinelAddrs: s.Addrs()}
	for _, f := range change {
		f(options)
	}
	client := redis.NewFailoverClient(options)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}
