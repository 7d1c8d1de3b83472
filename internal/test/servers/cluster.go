package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// nodeTimeout is after how many milliseconds of silence a node is suspected. A real failover then takes about three
// seconds; less, and a busy machine would see failovers that nobody asked for.
const nodeTimeout = 2000

// A Cluster is a Redis Cluster: first the masters, in the order of their slots, then the replicas.
type Cluster struct {
	nodes   []*Server
	masters int
}

// StartCluster returns a cluster, when all nodes agree on it and all replicas are online. args are added to the command
// line of every node.
func StartCluster(masters, replicasPerMaster int, args ...string) (*Cluster, error) {
	c := &Cluster{masters: masters}
	if err := c.start(replicasPerMaster, args); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(replicasPerMaster int, args []string) error {
	// No replica moves to another master: a master would have to have a hundred to give one away.
	args = slices.Concat(replication, []string{"--cluster-enabled", "yes", "--cluster-node-timeout", fmt.Sprint(nodeTimeout),
		"--cluster-migration-barrier", "100"}, args)
	for range c.masters * (1 + replicasPerMaster) {
		node, err := launch("", args...)
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, node)
		// Nor does a master that has lost its last slot become a replica, on a server that can be told so.
		if err := node.admin.ConfigSet(context.Background(), "cluster-allow-replica-migration", "no").Err(); err != nil && !unknownOption(err) {
			return fmt.Errorf("servers: configure cluster node %s: %w", node.Addr(), err)
		}
	}
	if err := c.join(); err != nil {
		return err
	}
	if err := c.awaitAgreement(); err != nil {
		return err
	}
	for i, replica := range c.nodes[c.masters:] {
		if err := follow(replica, c.nodes[i/replicasPerMaster]); err != nil {
			return err
		}
	}
	for _, replica := range c.nodes[c.masters:] {
		if err := replica.awaitReplica(); err != nil {
			return err
		}
	}
	return c.awaitReplicas(replicasPerMaster)
}

// unknownOption tells that the server is older than the option: 6.2 says "Unsupported CONFIG parameter", 7.0 "Unknown
// option".
func unknownOption(err error) bool {
	return strings.Contains(err.Error(), "Unsupported CONFIG parameter") || strings.Contains(err.Error(), "Unknown option")
}

// join gives each master its slots and introduces every node to every other: gossip would take seconds for that.
func (c *Cluster) join() error {
	ctx := context.Background()
	for i, node := range c.nodes {
		// Different from the start, for nodes with equal epochs settle it among themselves later, which moves nothing
		// but looks like a change to clients.
		if err := node.admin.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return fmt.Errorf("servers: set the epoch of cluster node %d: %w", i, err)
		}
		if i < c.masters {
			first, next := i*slots/c.masters, (i+1)*slots/c.masters
			if err := node.admin.ClusterAddSlotsRange(ctx, first, next-1).Err(); err != nil {
				return fmt.Errorf("servers: give slots to cluster node %d: %w", i, err)
			}
		}
		for _, other := range c.nodes[:i] {
			if err := node.admin.ClusterMeet(ctx, "127.0.0.1", fmt.Sprint(other.port)).Err(); err != nil {
				return fmt.Errorf("servers: introduce cluster node %d: %w", i, err)
			}
		}
	}
	return nil
}

// awaitAgreement returns when every node sees all nodes, all slots and nothing wrong.
func (c *Cluster) awaitAgreement() error {
	for _, node := range c.nodes {
		ask := func(ctx context.Context) (string, error) { return node.admin.ClusterInfo(ctx).Result() }
		if err := node.poll("the cluster to form", ask, func(info string) bool {
			return strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d\r", slots)) &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.nodes))) &&
				strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", c.masters))
		}); err != nil {
			return err
		}
	}
	return nil
}

// awaitReplicas returns when every node knows the role of every other: a client may ask any of them.
func (c *Cluster) awaitReplicas(perMaster int) error {
	for _, node := range c.nodes {
		ask := func(ctx context.Context) (string, error) { return node.admin.ClusterNodes(ctx).Result() }
		if err := node.poll("the replicas to be known", ask, func(nodes string) bool {
			return strings.Count(nodes, "slave ") == c.masters*perMaster && !strings.Contains(nodes, "handshake")
		}); err != nil {
			return err
		}
	}
	return nil
}

func follow(replica, master *Server) error {
	ctx := context.Background()
	id, err := master.admin.ClusterMyID(ctx).Result()
	if err == nil {
		err = replica.admin.ClusterReplicate(ctx, id).Err()
	}
	if err != nil {
		return fmt.Errorf("servers: make %s a replica of %s: %w", replica.Addr(), master.Addr(), err)
	}
	return nil
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string { return addrs(c.nodes) }

func addrs(servers []*Server) (addrs []string) {
	for _, s := range servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Nodes returns all nodes. The replicas of master i are the nodes masters + i*replicasPerMaster and following, as the
// cluster was made; failovers do not renumber.
func (c *Cluster) Nodes() []*Server { return slices.Clone(c.nodes) }

// Client returns a client of the whole cluster with the default options, after change. The caller closes it.
func (c *Cluster) Client(change ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	options := &redis.ClusterOptions{Addrs: c.Addrs()}
	for _, f := range change {
		f(options)
	}
	return redis.NewClusterClient(options)
}

// Close closes all nodes.
func (c *Cluster) Close() error { return closeAll(c.nodes...) }
