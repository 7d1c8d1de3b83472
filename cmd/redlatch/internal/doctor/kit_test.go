package doctor_test

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
)

func TestMain(m *testing.M) {
	logging.Disable() // as the command does
	redistest.Main(m)
}

// The user whom the doctor examines the servers as, and what is taken from a user who sees little.
const (
	user     = "patient"
	password = "secret"
)

var blind = []string{"-info", "-config", "-acl"}

// A site is where a plant stands.
type site struct {
	nodes  []*redis.Client // each server, as an administrator
	addr   string          // of the first one
	open   func(options *redis.Options) redis.UniversalClient
	config doctor.Config // without its client
}

// A plant makes a healthy site sick.
type plant struct {
	finds string   // the check that is to find it
	also  []string // checks that find what follows from it

	set    func(t *testing.T, s *site)                   // undoes it at the end of t
	rules  []string                                      // of the user
	prefix string                                        // of the names that the user may use
	client func(t *testing.T, s *site, o *redis.Options) // changes what the doctor connects with
}

// examine runs the doctor as a user with the rules.
func (s *site) examine(t *testing.T, p plant, more ...string) *doctor.Report {
	t.Helper()
	rules := []any{"acl", "setuser", user, "reset", "on", ">" + password, "~*", "&*", "+@all"}
	for _, rule := range slices.Concat(p.rules, more) {
		rules = append(rules, rule)
	}
	for _, node := range s.nodes {
		_ = node.Do(t.Context(), rules...).Err() // one of the nodes may be the plant
		if p.finds != "slow-commands" {
			_ = node.Do(t.Context(), "slowlog", "reset").Err() // a busy machine makes commands slow, and they stay there for all cases
		}
	}
	o := &redis.Options{Addr: s.addr, Username: user, Password: password}
	if p.client != nil {
		p.client(t, s, o)
	}
	config := s.config
	config.Client = s.open(o)
	defer config.Client.Close()
	config.Where, config.Prefix, config.Window = "planted", p.prefix, 50*time.Millisecond
	if config.RoundTrip = 5 * time.Second; p.finds == "round-trip" { // a busy machine is slow
		config.RoundTrip = doctor.RoundTrip
	}
	report, err := doctor.Run(t.Context(), config)
	require.NoError(t, err)
	return report
}

// found are the checks that found something.
func found(r *doctor.Report) (ids []string) {
	for _, f := range r.Findings {
		if f.Result == doctor.Found {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// wrong are the checks that found something of Warn or above.
func wrong(r *doctor.Report) (ids []string) {
	for _, f := range r.Findings {
		if f.Result == doctor.Found && f.Level != doctor.Info {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func unseen(r *doctor.Report) (ids []string) {
	for _, f := range r.Findings {
		if f.Result == doctor.Unknown {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func single(s *servers.Server) *site {
	return &site{
		nodes: []*redis.Client{s.Admin()}, addr: s.Addr(),
		open: func(o *redis.Options) redis.UniversalClient { return redis.NewClient(o) },
	}
}

// start gives a test a server that ends with it, healthy if there are no other args.
func start(t *testing.T, args ...string) *servers.Server {
	t.Helper()
	redistest.RequireProgram(t)
	s, err := servers.Start(append([]string{"--appendonly", "yes"}, args...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func cluster(t *testing.T) *site {
	t.Helper()
	redistest.RequireProgram(t)
	c, err := servers.StartCluster(3, 0, "--appendonly", "yes")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	s := &site{addr: c.Addrs()[0]}
	for _, node := range c.Nodes() {
		s.nodes = append(s.nodes, node.Admin())
	}
	s.open = func(o *redis.Options) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), Username: o.Username, Password: o.Password})
	}
	return s
}

func sentinels(t *testing.T) (*site, *servers.Sentinel) {
	t.Helper()
	redistest.RequireProgram(t)
	g, err := servers.StartSentinel("--appendonly", "yes")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	s := &site{nodes: []*redis.Client{g.Master.Admin(), g.Replica.Admin()}, addr: g.Master.Addr()}
	s.open = func(o *redis.Options) redis.UniversalClient {
		return g.Client(func(f *redis.FailoverOptions) { f.Username, f.Password = o.Username, o.Password })
	}
	s.config.Master = g.MasterName
	for _, addr := range g.Addrs() {
		client := redis.NewSentinelClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = client.Close() })
		s.config.Sentinels = append(s.config.Sentinels, client)
	}
	return s, g
}

// do sends a command to the first server.
func (s *site) do(t *testing.T, args ...any) {
	t.Helper()
	require.NoError(t, s.nodes[0].Do(t.Context(), args...).Err())
}

// configure sets a setting until the end of the test.
func configure(name, value string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		before, err := s.nodes[0].ConfigGet(t.Context(), name).Result()
		require.NoError(t, err)
		s.do(t, "config", "set", name, value)
		t.Cleanup(func() { require.NoError(t, s.nodes[0].ConfigSet(context.Background(), name, before[name]).Err()) })
	}
}

// A wire is a connection whose answers are changed on the way.
type wire struct {
	net.Conn
	edit   func([]byte) []byte // nil: nothing
	remote net.Addr            // nil: as it is
}

func (w wire) Read(p []byte) (int, error) {
	for {
		n, err := w.Conn.Read(p)
		if w.edit != nil && n > 0 {
			if n = copy(p, w.edit(p[:n])); n == 0 && err == nil {
				continue
			}
		}
		return n, err
	}
}

func (w wire) RemoteAddr() net.Addr {
	if w.remote != nil {
		return w.remote
	}
	return w.Conn.RemoteAddr()
}

// over has the doctor connect through a wire. edit gets what one read has read, and returns no more than that.
func over(edit func([]byte) []byte, remote net.Addr) func(*testing.T, *site, *redis.Options) {
	return func(_ *testing.T, _ *site, o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return wire{conn, edit, remote}, nil
		}
	}
}

// elsewhere is an address of another machine.
var elsewhere = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 6379}
