package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/servers"
)

// Replicated returns a master and its replica, both processes of the test's own, when the replica is online.
func Replicated(tb testing.TB) (master, replica *Server) {
	tb.Helper()
	RequireProgram(tb)
	m, r, err := servers.StartReplicated()
	must(tb, err)
	closed(tb, m.Close)
	closed(tb, r.Close)
	return own(tb, m), own(tb, r)
}

// ClusterServers is a Redis Cluster: first the masters, in the order of their slots, then the replicas.
type ClusterServers struct {
	cluster *servers.Cluster
	nodes   []*Server
}

// Cluster returns a cluster of processes of the test's own, when all nodes agree on it and all replicas are online.
func Cluster(tb testing.TB, masters, replicasPerMaster int) *ClusterServers {
	tb.Helper()
	RequireProgram(tb)
	cluster, err := servers.StartCluster(masters, replicasPerMaster)
	must(tb, err)
	closed(tb, cluster.Close)
	c := &ClusterServers{cluster: cluster}
	for _, node := range cluster.Nodes() {
		c.nodes = append(c.nodes, own(tb, node))
	}
	return c
}

// Addrs returns the addresses of all nodes.
func (c *ClusterServers) Addrs() []string { return c.cluster.Addrs() }

// Len is the number of nodes.
func (c *ClusterServers) Len() int { return len(c.nodes) }

// Node returns a node. The replicas of master i are the nodes masters + i*replicasPerMaster and following, as the
// cluster was made; failovers do not renumber.
func (c *ClusterServers) Node(i int) *Server { return c.nodes[i] }

// Client returns a client of the whole cluster with the default options, after change, closed with the test.
func (c *ClusterServers) Client(tb testing.TB, change ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	tb.Helper()
	client := c.cluster.Client(change...)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// SentinelServers is a master with one replica and the three sentinels that watch them.
type SentinelServers struct {
	MasterName string // as the sentinels call it
	Master     *Server
	Replica    *Server
	Sentinels  []*Server
	group      *servers.Sentinel
}

// Sentinel returns such a group of processes of the test's own, when the sentinels know one another and the replica.
// They replace a master one second after it falls silent.
func Sentinel(tb testing.TB) *SentinelServers {
	tb.Helper()
	RequireProgram(tb)
	group, err := servers.StartSentinel()
	must(tb, err)
	closed(tb, group.Close)
	s := &SentinelServers{MasterName: group.MasterName, Master: own(tb, group.Master), Replica: own(tb, group.Replica), group: group}
	for _, sentinel := range group.Sentinels {
		s.Sentinels = append(s.Sentinels, own(tb, sentinel))
	}
	return s
}

// Addrs returns the addresses of the sentinels.
func (s *SentinelServers) Addrs() []string { return s.group.Addrs() }

// Client returns a client that follows the master, with the default options, after change, closed with the test.
func (s *SentinelServers) Client(tb testing.TB, change ...func(*redis.FailoverOptions)) *redis.Client {
	tb.Helper()
	client := s.group.Client(change...)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}
