package wakeup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
)

// A kind of command that a writer sends.
type kind string

const (
	enter kind = "subscribe"
	leave kind = "unsubscribe"
	ping  kind = "ping"
)

// A command is answered by the server with one confirmation per channel, in order, or with one error.
type command struct {
	kind     kind
	channels []*channel
	answered int // how many of them; guarded by the hub's mutex, the rest does not change
}

func (c *command) String() string { return fmt.Sprintf("%s of %d channels", c.kind, len(c.channels)) }

// A conn is one pub/sub connection from its dialling to its end. It is never mended: go-redis is kept from
// reconnecting (Hub.undialled), so the answers on it match the commands sent one by one.
type conn struct {
	shard *shard
	stop  context.CancelFunc // ends dialling
	work  chan []*command    // of one; closed at the end

	began      time.Time
	heardAfter atomic.Int64  // nanoseconds from began to the last thing received
	heard      atomic.Uint64 // things received
	abandoned  atomic.Bool   // a hook has panicked in the middle of go-redis, see hookFailed

	// Guarded by the hub's mutex.
	opened      bool // the first command is out
	openedAt    time.Time
	busy        bool       // the writer has work
	unanswered  []*command // not fully answered, oldest first
	pinged      time.Time  // when the watchdog asked for a sign of life; zero: it does not wait for one
	pingDue     bool       // that ping is still to be handed to the writer
	heardAtPing uint64
	dead        bool  // given up; what it still says does not count
	err         error // why it should be given up
}

// openLocked starts a connection. It is opened by the first command of its work.
func (s *shard) openLocked(t *step) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &conn{shard: s, stop: cancel, work: make(chan []*command, 1), began: t.now}
	s.conn = l
	t.at(t.now.Add(s.patience))
	via := s.via // may be replaced while the writer starts
	s.hub.spawnLocked(func() { l.write(ctx, via) })
}

// endLocked gives the connection up without waiting for it. A goroutine that is stuck in it ends when the
// client's own timeouts do.
func (l *conn) endLocked() {
	l.dead = true
	l.stop()
	close(l.work)
}

// write is the writer: it alone dials, sends and closes. Closing ends the reader.
func (l *conn) write(ctx context.Context, via Client) {
	h := l.shard.hub
	sharded := h.cfg.Shard != nil
	var ps *redis.PubSub // made without channels, for then it dials with the first command, and that reports the error
	if sharded {
		ps = via.SSubscribe(ctx)
	} else {
		ps = via.Subscribe(ctx)
	}
	defer func() {
		if l.abandoned.Load() {
			return
		}
		if err := ps.Close(); err != nil {
			h.cfg.Logger.Debug("redlatch: closing a pub/sub connection", "error", err)
		}
	}()
	for batch := range l.work {
		for _, c := range batch {
			if !l.sending(c) {
				return
			}
			var err error
			raise.Here(func() { err = send(ctx, ps, sharded, c) }, func(p *raise.Panic) {
				err = p
				l.hookFailed(p)
			})
			if err != nil {
				l.fail(fmt.Errorf("%v: %w", c, err))
				return
			}
			if ctx != h.undialled {
				ctx = h.undialled
				l.reading(ps)
			}
		}
		h.change(func() { l.busy = false })
	}
}

func send(ctx context.Context, ps *redis.PubSub, sharded bool, c *command) error {
	lockorder.Unlocked("a command is sent")
	names := make([]string, len(c.channels))
	for i, ch := range c.channels {
		names[i] = ch.name
	}
	switch {
	case c.kind == ping:
		return ps.Ping(ctx)
	case c.kind == enter && sharded:
		return ps.SSubscribe(ctx, names...)
	case c.kind == enter:
		return ps.Subscribe(ctx, names...)
	case sharded:
		return ps.SUnsubscribe(ctx, names...)
	default:
		return ps.Unsubscribe(ctx, names...)
	}
}

// sending notes a command before it goes out, for its answer may be read before the write returns.
func (l *conn) sending(c *command) bool {
	h := l.shard.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.kind != ping {
		l.unanswered = append(l.unanswered, c)
	}
	return !l.dead
}

// reading starts the reader, after the first command has opened the connection.
func (l *conn) reading(ps *redis.PubSub) {
	h := l.shard.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	l.openedAt = time.Now()
	l.heardAfter.Store(int64(l.openedAt.Sub(l.began)))
	if l.dead {
		return
	}
	l.opened = true
	l.shard.patience = h.cfg.patience()
	h.spawnLocked(func() { l.read(ps) })
	h.poke()
}

// fail asks the manager to give the connection up.
func (l *conn) fail(err error) {
	l.shard.hub.change(func() { l.err = cmp.Or(l.err, err) })
}

// hookFailed notes a panic of a hook, and gives the connection up. go-redis runs hooks only while it opens a
// connection, so there is none to close, and it may have kept the mutex of its PubSub. No other goroutine
// touches that again.
func (l *conn) hookFailed(p *raise.Panic) {
	l.abandoned.Store(true)
	l.shard.hub.hookFailed(p)
	l.fail(p) // here, for after a Goexit nothing else runs
}

// read is the reader. It has no deadline: go-redis loses its place in the stream when one passes in the
// middle of a message. The watchdog sees to silence.
func (l *conn) read(ps *redis.PubSub) {
	h := l.shard.hub
	for {
		var got any
		var err error
		raise.Here(func() { got, err = ps.Receive(h.undialled) }, func(p *raise.Panic) {
			err = p
			l.hookFailed(p)
		})
		var reply redis.Error
		if err != nil && !errors.As(err, &reply) {
			l.fail(err)
			return
		}
		l.heardAfter.Store(int64(time.Since(l.began)))
		l.heard.Add(1)
		switch got := got.(type) {
		case nil:
			err = l.refused(err)
		case *redis.Message:
			l.message(got.Channel, got.Payload)
		case *redis.Subscription:
			err = l.answer(got)
		}
		if err != nil {
			l.fail(err)
			return
		}
	}
}

// message tells the listeners of a channel.
func (l *conn) message(name, payload string) {
	h := l.shard.hub
	var some [8]func(string) // most channels have fewer listeners: no allocation
	hears := some[:0]
	h.mu.Lock()
	if ch := h.channels[name]; ch != nil {
		for _, l := range ch.listeners {
			hears = append(hears, l.wanted.Hear)
		}
	}
	h.mu.Unlock()
	for _, hear := range hears {
		hear(payload)
	}
}

// answer matches a confirmation with the oldest command in flight. One that matches nothing is the server's
// own doing: SUNSUBSCRIBE because the slot has moved away.
func (l *conn) answer(s *redis.Subscription) error {
	h := l.shard.hub
	var wakes []func()
	back := false
	h.mu.Lock()
	if l.dead {
		h.mu.Unlock()
		return nil
	}
	c := l.oldestLocked()
	expected := c != nil && c.channels[c.answered].name == s.Channel &&
		(c.kind == enter) == (s.Kind == "subscribe" || s.Kind == "ssubscribe")
	if expected {
		ch := c.channels[c.answered]
		c.answered++
		if c.kind == enter && !ch.gone {
			h.closedSeen = 0
			if ch.confirm() {
				wakes = ch.appendWakes(wakes)
			}
			back, l.shard.warned = l.shard.warned, false
			h.raised.Store(false)
		}
	}
	h.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
	if back {
		h.cfg.Logger.Info("redlatch: pub/sub connection is back")
	}
	if !expected {
		return fmt.Errorf("unexpected %s of %q", s.Kind, s.Channel)
	}
	return nil
}

// oldestLocked is the oldest command that is not fully answered, nil when there is none.
func (l *conn) oldestLocked() *command {
	for len(l.unanswered) > 0 && l.unanswered[0].answered == len(l.unanswered[0].channels) {
		l.unanswered[0] = nil
		l.unanswered = l.unanswered[1:]
	}
	if len(l.unanswered) == 0 {
		return nil
	}
	return l.unanswered[0]
}

// elsewhere are the errors that concern the node and not the channel: another connection, perhaps to another
// node, helps.
var elsewhere = []string{
	"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "NOAUTH", "WRONGPASS", "BUSY",
}

// refused handles an error reply. It returns nil if the connection can live on.
func (l *conn) refused(err error) error {
	for _, prefix := range elsewhere {
		if redis.HasErrorPrefix(err, prefix) {
			return err
		}
	}
	h := l.shard.hub
	h.mu.Lock()
	c := l.oldestLocked()
	if l.dead || c == nil || c.kind != enter || c.answered > 0 {
		h.mu.Unlock()
		return err
	}
	c.answered = len(c.channels)
	news := l.shard.refuseLocked(c.channels)
	h.mu.Unlock()
	h.poke()
	if news {
		h.cfg.Logger.Warn("redlatch: the server refuses a subscription, its waiters poll; allow the channel in the ACL",
			"channel", c.channels[0].name, "error", err)
	}
	return nil
}
