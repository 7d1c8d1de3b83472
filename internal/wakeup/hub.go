package wakeup

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
)

// Client is what the hub needs of a redis client.
type Client interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	SSubscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// Config says how to subscribe.
type Config struct {
	// Client subscribes where channels are not sharded.
	Client Client

	// Shard is for sharded channels (Redis Cluster with SPUBLISH), nil where PUBLISH is used. It tells which
	// master a channel lives on, as an opaque comparable key, and the client to subscribe with: a node's or
	// the cluster's own. It may block; it is called from a goroutine of its own, once per slot.
	Shard func(ctx context.Context, channel string) (master any, via Client, err error)

	// Reload asks a cluster client to look at the topology again, nil for other clients. It is called after
	// every loss, before the back-off, so that the answer is usually there when the connection is rebuilt.
	Reload func()

	// Linger is how long a subscription outlives its last listener, and with the last subscription the
	// connection and its goroutines. It is read each time a channel loses its last listener. Nil means 0.
	Linger func() time.Duration

	Idle   time.Duration // silence after which a PING goes out; 10 s when 0
	Pong   time.Duration // how long to wait for any answer to it before the connection is given up; 2 s when 0
	Logger *slog.Logger  // nil: silent
}

// A PING each second would notice a connection that is dead in one direction sooner than the waiters' own
// polls do, but it would be three times as many commands as those of a waiter that sees nothing change. When
// the server itself cannot be reached the polls find out, and call Suspect.
const (
	defaultIdle = 10 * time.Second
	defaultPong = 2 * time.Second
)

// patience is how long the opening of a connection may take at first.
func (c *Config) patience() time.Duration { return min(c.Idle, time.Second) + c.Pong }

// Hub is the subscriber of one redis client. Its methods may be called from any goroutine and never wait for
// the network.
type Hub struct {
	cfg  Config
	kick chan struct{} // of one: something changed, the manager looks again

	// undialled is cancelled from the start. go-redis looks at a context only when it dials, so on an open
	// connection it changes nothing; but when the connection breaks, Receive, Ping and Subscribe would,
	// before they return the error, dial anew and re-subscribe everything in one command, which hides the
	// loss for as long as the dialling takes and is wrong for channels of several slots. With this context
	// they return at once and rebuilding stays with the hub.
	undialled context.Context

	mu         lockorder.Mutex[lockorder.Hub]
	channels   map[string]*channel
	idle       map[*channel]struct{} // the channels without listeners
	sweepAt    time.Time             // when the idle ones are looked through next; zero: not planned
	sweptAt    time.Time
	shards     map[any]*shard // by master; the only key is nil where channels are not sharded
	unassigned []*channel     // channels without a shard
	running    bool           // the manager runs
	live       int            // other goroutines of the hub that have not ended: writers, readers, find, reload

	suspected   bool
	suspectedAt time.Time // the latest suspicion
	rebuiltAt   time.Time // when suspicion last led to rebuilding

	halted     bool // the client is closed; nothing is tried until the next Listen
	closedSeen int  // ErrClosed in a row

	finding   bool // a find goroutine runs
	findAt    time.Time
	findRetry *backoff.ExponentialBackOff
	findErr   error // why the last find could not place every channel
	reloading bool  // a reload goroutine runs

	raised atomic.Bool // a hook's panic is in the log, and no subscription has succeeded since
}

// New makes a hub. It does nothing until there is a listener, and there is nothing to close.
func New(cfg Config) *Hub {
	if cfg.Idle <= 0 {
		cfg.Idle = defaultIdle
	}
	if cfg.Pong <= 0 {
		cfg.Pong = defaultPong
	}
	if cfg.Linger == nil {
		cfg.Linger = func() time.Duration { return 0 }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	undialled, cancel := context.WithCancel(context.Background())
	cancel()
	return &Hub{
		cfg:       cfg,
		kick:      make(chan struct{}, 1),
		undialled: undialled,
		channels:  make(map[string]*channel),
		idle:      make(map[*channel]struct{}),
		shards:    make(map[any]*shard),
		findRetry: newRetry(),
	}
}

// Listen has hear called with every message on the channel, and wake, if there is one, whenever messages may
// have been missed. Both run on a goroutine of the hub and must not block; they may call Listen, Close and
// Suspect.
//
// Messages from before Confirmed may or may not be heard.
func (h *Hub) Listen(name string, hear func(message string), wake func()) *Listener {
	listeners := h.Listeners(Wanted{name, hear, wake})
	h.OpenAll(listeners...)
	return listeners[0]
}

// A Wanted is a channel that is to be listened to, with what is called as in Listen.
type Wanted struct {
	Channel string
	Hear    func(message string)
	Wake    func()
}

// Listeners makes the listeners of several channels, in the order of the arguments. They hear nothing before
// OpenAll, so what their functions read can be completed with them. They are not confirmed until then.
func (h *Hub) Listeners(wanted ...Wanted) []*Listener {
	listeners := make([]*Listener, 0, len(wanted))
	for _, w := range wanted {
		listeners = append(listeners, &Listener{hub: h, wanted: w})
	}
	return listeners
}

// OpenAll has listeners that are new listen. Channels that are new are subscribed by one command where one
// slot has them all, so that the server never counts a listener of one without the others.
func (h *Hub) OpenAll(listeners ...*Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range listeners {
		h.listenLocked(l)
	}
}

// Hears tells whether a subscription of the channel stands, with a listener or for a while without one.
func (h *Hub) Hears(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[name]
	return ch != nil && ch.standing
}

// CloseAll closes listeners. Their channels, where they were the last listeners, are unsubscribed by one
// command where one slot has them all, as OpenAll subscribes them.
func (h *Hub) CloseAll(listeners ...*Listener) {
	linger := max(0, h.cfg.Linger()) // user code: not under the mutex
	h.mu.Lock()
	defer h.mu.Unlock()
	expires := time.Now().Add(linger)
	for _, l := range listeners {
		l.closeLocked(expires)
	}
}

func (h *Hub) listenLocked(l *Listener) {
	ch, known := h.channels[l.wanted.Channel]
	if !known {
		ch = &channel{name: l.wanted.Channel, up: make(chan struct{})}
		h.channels[ch.name] = ch
		h.unassigned = append(h.unassigned, ch)
	}
	delete(h.idle, ch)
	l.ch, l.confirmed = ch, ch.up
	ch.listeners = append(ch.listeners, l)
	switch {
	case !h.running:
		h.running = true
		h.halted = false
		go h.run()
	case h.halted || !known:
		h.halted = false
		h.poke()
	}
}

// Suspect is for callers that saw READONLY, MOVED or a network error on the client's commands: subscriptions
// may sit on a node on which nothing is published any more, and such a node still answers pings. Connections
// that were opened before are rebuilt soon, at most once in a second, and all waiters are woken when the new
// subscription stands. Without subscriptions it does nothing.
func (h *Hub) Suspect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.shards) == 0 {
		return
	}
	h.suspected = true
	h.suspectedAt = time.Now()
	h.poke()
}

// poke makes the manager look again. A poke that is already pending is as good as a second one.
func (h *Hub) poke() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// change changes what the manager goes by, and has it look.
func (h *Hub) change(f func()) {
	h.mu.Lock()
	f()
	h.mu.Unlock()
	h.poke()
}

// spawnLocked runs f on a goroutine that the manager outlives.
func (h *Hub) spawnLocked(f func()) {
	h.live++
	go func() {
		defer h.change(func() { h.live-- })
		f()
	}()
}

// hookFailed is for a hook of the client that has panicked on a goroutine of the hub, where no program could
// recover from it. It counts as a connection that failed. Each attempt may bring it back, so there is one
// line until one succeeds.
func (h *Hub) hookFailed(p *raise.Panic) {
	if !h.raised.Swap(true) {
		h.cfg.Logger.Error("redlatch: a hook of the Redis client has panicked at the pub/sub connection, waiters poll "+
			"until it is back", "panic", p)
	}
}

// newRetry paces attempts: about 50 ms at first, about 2 s in the long run, and never an end.
func newRetry() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(2*time.Second),
		backoff.WithMaxElapsedTime(0),
	)
}
