package doctor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlatch/redlatch/fleet"
)

// patience is how long one command, or one attempt to connect, may take.
const patience = 2 * time.Second

// A patient is everything that is examined.
type patient struct {
	Config
	client redis.UniversalClient // the doctor's own, which gives up soon
	nodes  []*node

	list fact[*fleet.Report]
	said said
}

func (p *patient) cluster() bool { _, is := p.client.(*redis.ClusterClient); return is }

// topology is what the client takes the servers for.
func (p *patient) topology() string {
	switch {
	case p.cluster():
		return "cluster"
	case p.Master != "":
		return "sentinel"
	default:
		return "single"
	}
}

// receive finds the masters. One that cannot be asked is a node with a reason why.
func receive(ctx context.Context, c Config) (*patient, error) {
	p := &patient{Config: c}
	p.askSentinels(ctx)
	switch given := c.Client.(type) {
	case *redis.Client:
		o := hasty(given.Options())
		n := &node{patient: p, addr: o.Addr, name: p.newName()}
		if c.Master != "" {
			n.addr, n.up = p.master()
			o.Addr, o.Dialer = n.addr, nil // past the sentinels, of which one that hangs would hold up every connection
		}
		n.client = redis.NewClient(o)
		p.client, p.nodes = n.client, []*node{n}
	case *redis.ClusterClient:
		own := redis.NewClusterClient(hastyCluster(given.Options()))
		p.client = own
		if err := p.receiveMasters(ctx, own); err != nil {
			p.nodes = []*node{{patient: p, addr: c.Where, up: err}}
		}
	default:
		return nil, errors.New("this client is neither of a server nor of a cluster")
	}
	return p, nil
}

func (p *patient) receiveMasters(ctx context.Context, cluster *redis.ClusterClient) error {
	var mu sync.Mutex
	p.nodes = nil
	err := cluster.ForEachMaster(ctx, func(_ context.Context, client *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		p.nodes = append(p.nodes, &node{patient: p, addr: addrOf(client), client: client})
		return nil
	})
	if err == nil && len(p.nodes) == 0 {
		err = errors.New("the cluster has no masters")
	}
	if err != nil {
		return err
	}
	slices.SortFunc(p.nodes, func(a, b *node) int { return strings.Compare(a.addr, b.addr) })
	for range 40 * len(p.nodes) { // a master with few slots, or a prefix with a hash tag, may be left without
		name := p.newName()
		owner, err := cluster.MasterForKey(ctx, name)
		if err != nil {
			continue
		}
		for _, n := range p.nodes {
			if n.name == "" && n.addr == addrOf(owner) {
				n.name = name
			}
		}
	}
	return nil
}

// newName is a name that nothing else uses.
func (p *patient) newName() string {
	var random [8]byte
	_, _ = rand.Read(random[:])
	return p.Prefix + "redlatch_doctor_" + hex.EncodeToString(random[:])
}

func (p *patient) close() { _ = p.client.Close() }

// hasty is a copy of the options that gives up soon, and repeats nothing: what does not work is what the doctor is after.
func hasty(o *redis.Options) *redis.Options {
	own := *o
	own.ContextTimeoutEnabled = true
	own.DialTimeout, own.ReadTimeout, own.WriteTimeout = shorter(own.DialTimeout), shorter(own.ReadTimeout), shorter(own.WriteTimeout)
	own.MaxRetries, own.DialerRetries, own.MinIdleConns = -1, 1, 0
	own.PushNotificationProcessor = nil // is the other client's
	own.MaintNotificationsConfig = quiet
	return &own
}

func hastyCluster(o *redis.ClusterOptions) *redis.ClusterOptions {
	own := *o
	own.ContextTimeoutEnabled = true
	own.DialTimeout, own.ReadTimeout, own.WriteTimeout = shorter(own.DialTimeout), shorter(own.ReadTimeout), shorter(own.WriteTimeout)
	own.DialerRetries, own.MinIdleConns = 1, 0
	own.PushNotificationProcessor = nil
	own.MaintNotificationsConfig = quiet
	return &own
}

// quiet leaves out what the client asks for each connection, and the doctor does not need.
var quiet = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

func shorter(d time.Duration) time.Duration {
	if d <= 0 || d > patience {
		return patience
	}
	return d
}

func addrOf(client *redis.Client) string { return client.Options().Addr }
