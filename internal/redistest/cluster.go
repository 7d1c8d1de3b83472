package redistest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// nodeTimeout is after how many milliseconds of silence a node is suspected. A real failover then takes about three
// seconds; less, and a busy machine would see failovers that no test asked for.
const nodeTimeout = 2000

// ClusterServers is a Redis Cluster: first the masters, in the order of their slots, then the replicas.
type ClusterServers struct {
	nodes   []*Server
	masters int
}

// Cluster returns a cluster of processes of the test's own, when all nodes agree on it and all replicas are online.
func Cluster(tb testing.TB, masters, replicasPerMaster int) *ClusterServers {
	tb.Helper()
	requireProgram(tb)
	c := &ClusterServers{masters: masters}
	args := slices.Concat(replication, []string{"--cluster-enabled", "yes", "--cluster-node-timeout", fmt.Sprint(nodeTimeout),
		"--cluster-allow-replica-migration", "no"})
	for range masters * (1 + replicasPerMaster) {
		c.nodes = append(c.nodes, launch(tb, args...))
	}
	c.join(tb)
	c.awaitAgreement()
	for i, replica := range c.nodes[masters:] {
		c.follow(tb, replica, c.nodes[i/replicasPerMaster])
	}
	for _, replica := range c.nodes[masters:] {
		replica.awaitReplica()
	}
	c.awaitReplicas(replicasPerMaster)
	return c
}

// join gives each master its slots and introduces every node to every other: gossip would take seconds for that.
func (c *ClusterServers) join(tb testing.TB) {
	tb.Helper()
	ctx := context.Background()
	for i, node := range c.nodes {
		// Different from the start, for nodes with equal epochs settle it among themselves later, which moves nothing
		// but looks like a change to clients.
		if err := node.admin.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			tb.Fatalf("redistest: set the epoch of cluster node %d: %v", i, err)
		}
		if i < c.masters {
			first, next := i*slots/c.masters, (i+1)*slots/c.masters
			if err := node.admin.ClusterAddSlotsRange(ctx, first, next-1).Err(); err != nil {
				tb.Fatalf("redistest: give slots to cluster node %d: %v", i, err)
			}
		}
		for _, other := range c.nodes[:i] {
			if err := node.admin.ClusterMeet(ctx, "127.0.0.1", fmt.Sprint(other.process.port)).Err(); err != nil {
				tb.Fatalf("redistest: introduce cluster node %d: %v", i, err)
			}
		}
	}
}

// awaitAgreement returns when every node sees all nodes, all slots and nothing wrong.
func (c *ClusterServers) awaitAgreement() {
	for _, node := range c.nodes {
		node.tb.Helper()
		ask := func(ctx context.Context) (string, error) { return node.admin.ClusterInfo(ctx).Result() }
		node.poll("the cluster to form", ask, func(info string) bool {
			return strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d\r", slots)) &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.nodes))) &&
				strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", c.masters))
		})
	}
}

// awaitReplicas returns when every node knows the role of every other: a client may ask any of them.
func (c *ClusterServers) awaitReplicas(perMaster int) {
	for _, node := range c.nodes {
		node.tb.Helper()
		ask := func(ctx context.Context) (string, error) { return node.admin.ClusterNodes(ctx).Result() }
		node.poll("the replicas to be known", ask, func(nodes string) bool {
			return strings.Count(nodes, "slave ") == c.masters*perMaster && !strings.Contains(nodes, "handshake")
		})
	}
}

func (c *ClusterServers) follow(tb testing.TB, replica, master *Server) {
	tb.Helper()
	ctx := context.Background()
	id, err := master.admin.ClusterMyID(ctx).Result()
	if err == nil {
		err = replica.admin.ClusterReplicate(ctx, id).Err()
	}
	if err != nil {
		tb.Fatalf("redistest: make %s a replica of %s: %v", replica.Addr, master.Addr, err)
	}
}

// Addrs returns the addresses of all nodes.
func (c *ClusterServers) Addrs() []string {
	var addrs []string
	for _, node := range c.nodes {
		addrs = append(addrs, node.Addr)
	}
	return addrs
}

// Len is the number of nodes.
func (c *ClusterServers) Len() int { return len(c.nodes) }

// Node returns a node. The replicas of master i are the nodes masters + i*replicasPerMaster and following, as the
// cluster was made; failovers do not renumber.
func (c *ClusterServers) Node(i int) *Server { return c.nodes[i] }

// Client returns a client of the whole cluster with the default options, after change, closed with the test.
func (c *ClusterServers) Client(tb testing.TB, change ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	tb.Helper()
	options := &redis.ClusterOptions{Addrs: c.Addrs()}
	for _, f := range change {
		f(options)
	}
	client := redis.NewClusterClient(options)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}
