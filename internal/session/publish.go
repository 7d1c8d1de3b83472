package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/wakeup"
)

// A publishCommand is PUBLISH or SPUBLISH. The two families do not hear each other, so every process has to
// choose alike: SPUBLISH on a cluster that knows it, PUBLISH everywhere else, as Redisson does.
type publishCommand struct {
	chosen  atomic.Pointer[string]
	asking  singleflight.Group
	primary atomic.Bool // chosen for a cluster client that turned out to have one primary
}

// Classic and Sharded are the two families.
const (
	Classic = "PUBLISH"
	Sharded = "SPUBLISH"
)

var classic, sharded = Classic, Sharded

// decide settles what needs no question to the server. Sharding is nil where the program has not said it.
func (p *publishCommand) decide(cluster bool, sharding *Sharding) {
	switch {
	case !cluster || sharding != nil && !bool(*sharding):
		p.chosen.Store(&classic)
	case sharding != nil:
		p.chosen.Store(&sharded)
	default:
		p.chosen.Store(nil)
	}
}

// Publish is the command in force. A cluster is asked once whether it has sharded channels, however many
// callers want to know; while it cannot be asked, the error is the server's.
func (s *Session) Publish(ctx context.Context) (string, error) {
	if chosen := s.publish.chosen.Load(); chosen != nil {
		return *chosen, nil
	}
	// Several callers share the question, so the context of one does not end it.
	answer := s.publish.asking.DoChan("", func() (command any, err error) {
		if raised := raise.Run(func() { command, err = s.publish.ask(s.Client, s.topology) }); raised != nil {
			return "", raised
		}
		return command, err
	})
	select {
	case a := <-answer:
		if raised, ok := a.Err.(*raise.Panic); ok {
			raised.Raise(ctx)
		}
		command, _ := a.Val.(string)
		return command, a.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Publishes is the command in force, for what follows a Publish without an error.
func (s *Session) Publishes() string {
	if chosen := s.publish.chosen.Load(); chosen != nil {
		return *chosen
	}
	return classic // Configure has just said that the client is a cluster's
}

// PublishFor is Publish for a command that needs it. While no server answers, the question is asked again,
// for outage at most: for as long as an outage may last for the command itself.
func (s *Session) PublishFor(ctx context.Context, outage time.Duration) (string, error) {
	if chosen := s.publish.chosen.Load(); chosen != nil { // the common case allocates nothing
		return *chosen, nil
	}
	asking, cancel := context.WithTimeout(ctx, outage)
	defer cancel()
	for pauses := (delivery.Pauses{}); ; {
		command, err := s.Publish(asking)
		switch {
		case err == nil:
			return command, nil
		case ctx.Err() == nil && asking.Err() != nil:
			s.publish.asking.Forget("") // the next may be asked of another server
			return "", delivery.Unavailable(fmt.Errorf("no server has answered within %v whether it has sharded channels",
				outage))
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return "", err
		case ctx.Err() != nil, outcome.Of(err) == outcome.Hopeless:
			return "", delivery.Unavailable(err)
		}
		if stop := pauses.Sleep(ctx, err, outage); stop != nil {
			return "", delivery.Unavailable(stop)
		}
	}
}

// PublishWithin is PublishFor for what has to happen although ctx may have ended.
func (s *Session) PublishWithin(ctx context.Context, d time.Duration) (string, error) {
	if chosen := s.publish.chosen.Load(); chosen != nil { // the common case allocates nothing
		return *chosen, nil
	}
	return s.PublishFor(context.WithoutCancel(ctx), d)
}

// KnowsListeners tells whether one server knows all subscribers of a channel. It does not on a cluster
// without sharded channels.
func (s *Session) KnowsListeners() bool {
	chosen := s.publish.chosen.Load()
	return !s.cluster.Load() || s.publish.primary.Load() || chosen != nil && *chosen == Sharded
}

func (p *publishCommand) ask(client Client, topology dispatch.Cluster) (string, error) {
	ctx := context.Background()
	primary, err := onePrimary(ctx, topology)
	if err != nil {
		return "", err
	}
	if primary {
		p.primary.Store(true)
		p.chosen.Store(&classic)
		return classic, nil
	}
	err = client.Process(ctx, redis.NewCmd(ctx, "pubsub", "shardnumsub"))
	switch {
	case err == nil:
		p.chosen.Store(&sharded)
	case outcome.Of(err) == outcome.Hopeless && !errors.Is(err, redis.ErrClosed):
		p.chosen.Store(&classic) // a server before 7.0 does not know the subcommand
	default:
		return "", err
	}
	return *p.chosen.Load(), nil
}

// onePrimary tells whether a client has the type of a cluster client, but a single primary that is no
// cluster. A client for Sentinel that also reads from replicas is one. It knows its servers by itself, and
// the other processes of that primary have plain clients.
func onePrimary(ctx context.Context, topology dispatch.Cluster) (bool, error) {
	client, ok := topology.(interface{ Options() *redis.ClusterOptions })
	if !ok || client.Options().ClusterSlots == nil {
		return false, nil
	}
	slots, err := client.Options().ClusterSlots(ctx)
	return len(slots) == 1, err
}

// atPrimary subscribes at the primary, where messages are published and subscribers counted, and not at a
// replica that the client reads from.
type atPrimary struct {
	Client
	topology dispatch.Cluster
}

func (p atPrimary) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	primary, err := p.topology.MasterForKey(ctx, "")
	if err != nil { // the replica hears as much
		return p.Client.Subscribe(ctx, channels...)
	}
	return primary.Subscribe(ctx, channels...)
}

// hubLocked makes the hub when it is first used and the family of channels is known. Until then it is nil,
// and cohorts poll.
func (s *Session) hubLocked() *wakeup.Hub {
	chosen := s.publish.chosen.Load()
	if s.hub != nil || chosen == nil {
		return s.hub
	}
	config := wakeup.Config{Client: s.Client, Linger: s.Linger, Logger: s.Log}
	if *chosen == sharded {
		config.Shard = shardOf(s.Client, s.topology)
	}
	if s.publish.primary.Load() {
		config.Client = atPrimary{s.Client, s.topology}
	}
	if topology := s.topology; topology != nil {
		config.Reload = func() { topology.ReloadState(context.Background()) }
	}
	s.hub = wakeup.New(config)
	return s.hub
}

// suspect tells the hub that the primary may have changed: its subscriptions may sit on the wrong server.
func (s *Session) suspect() {
	s.mu.Lock()
	hub := s.hub
	s.mu.Unlock()
	if hub != nil {
		hub.Suspect()
	}
}

// shardOf tells where a sharded channel lives: one subscriber per master, or per slot where a wrapper of the
// cluster client hides its masters.
func shardOf(client Client, topology dispatch.Cluster) func(context.Context, string) (any, wakeup.Client, error) {
	return func(ctx context.Context, channel string) (any, wakeup.Client, error) {
		if topology == nil {
			return keys.Slot(channel), client, nil
		}
		master, err := topology.MasterForKey(ctx, channel)
		if err != nil {
			return nil, nil, err
		}
		return master, master, nil
	}
}
