package doctor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
)

// replicatedPlants stand on a master with its replica, in this order.
func replicatedPlants(replica *servers.Server) []plant {
	return []plant{
		{finds: "replica", client: func(_ *testing.T, _ *site, o *redis.Options) { o.Addr = replica.Addr() }},
		{finds: "replica-behind", set: func(t *testing.T, s *site) {
			s.nodes = s.nodes[:1] // without the replica: a server that is stopped cannot answer the ACL command that makes the test's user
			require.NoError(t, replica.Stop())
			t.Cleanup(func() { require.NoError(t, replica.Continue()) })
			for i := range 12 {
				s.do(t, "set", fmt.Sprint(i), strings.Repeat("x", 1<<20))
			}
		}},
	}
}

func TestEachPlantOfReplicationIsFound(t *testing.T) {
	redistest.RequireProgram(t)
	master, replica, err := servers.StartReplicated("--appendonly", "yes")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, master.Close())
		require.NoError(t, replica.Close())
	})
	s := single(master)
	s.nodes = append(s.nodes, replica.Admin())
	for _, p := range replicatedPlants(replica) {
		s.try(t, p)
	}
}

// clusterPlants stand on a cluster of three masters. The last one does not go away.
var clusterPlants = []plant{
	{finds: "cluster-as-single"},
	{finds: "database", client: func(_ *testing.T, _ *site, o *redis.Options) { o.DB = 1 }},
	{finds: "slots-uncovered", also: []string{"writes-refused"}, set: func(t *testing.T, s *site) {
		s.do(t, "cluster", "delslots", 7)
		t.Cleanup(func() {
			require.NoError(t, s.nodes[0].ClusterAddSlots(context.Background(), 7).Err())
			s.settle(t, "cluster_slots_ok:16384")
		})
	}},
	{finds: "slot-half-moved", set: func(t *testing.T, s *site) {
		to, err := s.nodes[1].ClusterMyID(t.Context()).Result()
		require.NoError(t, err)
		s.do(t, "cluster", "setslot", 7, "migrating", to)
		t.Cleanup(func() { s.nodes[0].Do(context.Background(), "cluster", "setslot", 7, "stable") })
	}},
	{finds: "node-failed", also: []string{"unreachable", "slots-uncovered", "writes-refused"}, set: func(t *testing.T, s *site) {
		_ = s.nodes[2].ShutdownNoSave(t.Context()).Err() // the answer is a connection that ends
		s.nodes = s.nodes[:2]
		s.settle(t, "cluster_state:fail")
	}},
}

// settle waits until all nodes say so.
func (s *site) settle(t *testing.T, says string) {
	redistest.Eventually(t, says, func() bool {
		for _, node := range s.nodes {
			if info, err := node.ClusterInfo(context.Background()).Result(); err != nil || !strings.Contains(info, says+"\r") {
				return false
			}
		}
		return true
	})
}

func TestEachPlantOnAClusterIsFound(t *testing.T) {
	s := cluster(t)
	one := *s
	one.open = func(o *redis.Options) redis.UniversalClient { return redis.NewClient(o) }
	for _, p := range clusterPlants {
		if p.finds == "cluster-as-single" || p.finds == "database" {
			one.try(t, p)
		} else {
			s.try(t, p)
		}
	}
}

// sentinelPlants stand on one group, one after the other, and do not go away.
func sentinelPlants(g *servers.Sentinel) []plant {
	return []plant{
		{finds: "sentinels-disagree", also: []string{"sentinel-quorum", "sentinels-few"}, set: func(t *testing.T, s *site) {
			third := g.Sentinels[2].Admin()
			require.NoError(t, third.Do(t.Context(), "sentinel", "remove", g.MasterName).Err())
			require.NoError(t, third.Do(t.Context(), "sentinel", "monitor", g.MasterName, "127.0.0.1", g.Replica.Port(), 2).Err())
		}},
		{finds: "sentinel-silent", also: []string{"sentinels-few"}, set: func(t *testing.T, s *site) {
			require.NoError(t, g.Sentinels[2].Kill())
		}},
		{finds: "sentinels-few", also: []string{"sentinel-silent"}, set: func(t *testing.T, s *site) {
			s.missing(t, g, 1)
		}},
		{finds: "sentinel-quorum", also: []string{"sentinel-silent", "sentinels-few"}, set: func(t *testing.T, s *site) {
			require.NoError(t, g.Sentinels[1].Kill())
			s.missing(t, g, 2)
		}},
	}
}

// missing waits until the first sentinel has noticed.
func (s *site) missing(t *testing.T, g *servers.Sentinel, n int) {
	redistest.Eventually(t, "the sentinel misses others", func() bool {
		others, err := s.config.Sentinels[0].Sentinels(t.Context(), g.MasterName).Result()
		down := 0
		for _, other := range others {
			if strings.Contains(other["flags"], "s_down") {
				down++
			}
		}
		return err == nil && down == n
	})
}

func TestEachPlantOfSentinelsIsFound(t *testing.T) {
	s, g := sentinels(t)
	for _, p := range sentinelPlants(g) {
		s.try(t, p)
	}
}
