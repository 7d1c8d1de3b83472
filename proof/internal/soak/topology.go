package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlatch/redlatch/internal/test/servers"
)

// The topologies.
const (
	Single   = "single" // three servers that know nothing of one another; the first has everything but redlocks
	Sentinel = "sentinel"
	Cluster  = "cluster"
)

// A topology is the servers of a run.
type topology struct {
	kind  string
	nodes []*servers.Server // what can be harmed
	entry []string          // where clients begin: servers, sentinels or nodes
	name  string            // of the master, as the sentinels call it
	close func() error
}

// keeps has a server keep what it has acknowledged through the death of its process: it is written before the answer,
// and the kernel has it. With everysec a slow disk would make it lose writes, which would look like a fault of ours.
var keeps = []string{"--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"}

func startTopology(kind string) (*topology, error) {
	t := &topology{kind: kind}
	switch kind {
	case Single:
		t.close = func() (err error) {
			for _, n := range t.nodes {
				err = errors.Join(err, n.Close())
			}
			return err
		}
		for range 3 {
			s, err := servers.Start(keeps...)
			if err != nil {
				return nil, errors.Join(err, t.close())
			}
			t.nodes, t.entry = append(t.nodes, s), append(t.entry, s.Addr())
		}
	case Sentinel:
		s, err := servers.StartSentinel(keeps...)
		if err != nil {
			return nil, err
		}
		t.nodes, t.entry, t.name, t.close = []*servers.Server{s.Master, s.Replica}, s.Addrs(), s.MasterName, s.Close
	case Cluster:
		c, err := servers.StartCluster(3, 1, keeps...)
		if err != nil {
			return nil, err
		}
		t.nodes, t.entry, t.close = c.Nodes(), c.Addrs(), c.Close
	default:
		return nil, fmt.Errorf("soak: no topology %q; there are single, sentinel and cluster", kind)
	}
	return t, nil
}

// An address says how to reach the servers.
type address struct {
	Kind    string
	Entry   []string
	Name    string            `json:",omitempty"`
	Proxies map[string]string // by the address of the server behind; what is not in it is dialed directly
}

func (t *topology) address() address { return address{Kind: t.kind, Entry: t.entry, Name: t.name} }

// clients are one for each server that knows nothing of the others.
func (a address) clients(timeout time.Duration, resp2 bool) (clients []redis.UniversalClient) {
	protocol := 3
	if resp2 {
		protocol = 2
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if proxy := a.Proxies[addr]; proxy != "" {
			addr = proxy
		}
		return (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, addr)
	}
	switch a.Kind {
	case Sentinel:
		return []redis.UniversalClient{redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: a.Name, SentinelAddrs: a.Entry, Dialer: dial, Protocol: protocol, ReadTimeout: timeout, DialTimeout: timeout, PoolSize: 50,
		})}
	case Cluster:
		return []redis.UniversalClient{redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: a.Entry, Dialer: dial, Protocol: protocol, ReadTimeout: timeout, DialTimeout: timeout, PoolSize: 50,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})}
	}
	for _, addr := range a.Entry {
		clients = append(clients, redis.NewClient(&redis.Options{
			Addr: addr, Dialer: dial, Protocol: protocol, ReadTimeout: timeout, DialTimeout: timeout, PoolSize: 50,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}))
	}
	return clients
}

// nameOf is what a server calls itself.
func nameOf(s *servers.Server) (string, error) {
	info, err := s.Admin().Info(context.Background(), "server").Result()
	if err != nil {
		return "", fmt.Errorf("soak: ask the server for its version: %w", err)
	}
	name, version := "Redis", ""
	for line := range strings.Lines(info) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key {
		case "server_name":
			name = value
		case "redis_version":
			version = cmp.Or(version, value)
		case "valkey_version":
			version = value
		}
	}
	return name + " " + version, nil
}
