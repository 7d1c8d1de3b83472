package wakeup_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/wakeup"
)

// A lab is a hub on a miniredis without sockets, on fake time, with a network that obeys the test. Everything that the
// hub starts must have ended when the bubble does.
type lab struct {
	t      *testing.T
	server *miniredis.Miniredis
	client *redis.Client
	hub    *wakeup.Hub
	start  time.Time

	linger atomic.Int64
	refuse func(channel string) bool // the server answers NOPERM

	mu    sync.Mutex
	dial  func(ctx context.Context) error // before each connection
	dials []time.Duration                 // when, since start
	conns []*conn
	sent  []string // commands the server saw, in order, by name
	when  []time.Duration
}

func inLab(t *testing.T, test func(l *lab)) {
	redistest.Bubble(t, func(t *testing.T) {
		l := &lab{t: t, server: miniredis.NewMiniRedis(), start: time.Now()}
		l.server.ClockTTL(true)
		options := redistest.InMemoryOptions(l.server)
		inner := options.Dialer
		options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err() // as net.Dialer does
			}
			l.mu.Lock()
			l.dials = append(l.dials, time.Since(l.start))
			dial := l.dial
			l.mu.Unlock()
			if dial != nil {
				if err := dial(ctx); err != nil {
					return nil, err
				}
			}
			raw, err := inner(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			c := newConn(raw)
			l.mu.Lock()
			l.conns = append(l.conns, c)
			l.mu.Unlock()
			return c, nil
		}
		l.client = redis.NewClient(options)
		l.hub = wakeup.New(wakeup.Config{
			Client: l.client,
			Idle:   time.Second,
			Linger: func() time.Duration { return time.Duration(l.linger.Load()) },
		})
		// Any command makes the server exist, which is what its hook hangs on.
		if err := l.client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		l.server.Server().SetPreHook(l.hook)
		l.dials, l.conns = nil, nil
		test(l)
		synctest.Wait()
		if err := l.client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error(err)
		}
		l.server.Close()
	})
}

func (l *lab) hook(p *server.Peer, name string, args ...string) bool {
	name = strings.ToLower(name)
	if name != "subscribe" && name != "unsubscribe" && name != "ping" {
		return false
	}
	l.mu.Lock()
	l.sent = append(l.sent, name)
	l.when = append(l.when, time.Since(l.start))
	l.mu.Unlock()
	if name == "subscribe" && l.refuse != nil && slices.ContainsFunc(args, l.refuse) {
		p.WriteError("NOPERM No permissions to access a channel")
		return true
	}
	return false
}

// saw returns when the server saw the command.
func (l *lab) saw(name string) (times []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, sent := range l.sent {
		if sent == name {
			times = append(times, l.when[i])
		}
	}
	return times
}

func (l *lab) dialled() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.dials)
}

func (l *lab) setDial(dial func(ctx context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dial = dial
}

// last is the newest connection.
func (l *lab) last() *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns[len(l.conns)-1]
}

// A waiter counts its wake-ups.
type waiter struct {
	*wakeup.Listener
	wakes atomic.Int64
}

func listen(hub *wakeup.Hub, channel string) *waiter {
	w := &waiter{}
	w.Listener = hub.Listen(channel, func(string) { w.wakes.Add(1) }, func() { w.wakes.Add(1) })
	return w
}

// listen listens and waits until nothing moves any more.
func (l *lab) listen(channel string) *waiter {
	w := listen(l.hub, channel)
	synctest.Wait()
	return w
}

func (w *waiter) confirmed() bool {
	select {
	case <-w.Confirmed():
		return true
	default:
		return false
	}
}

func (l *lab) wantConfirmed(w *waiter, want bool) {
	l.t.Helper()
	synctest.Wait()
	if got := w.confirmed(); got != want {
		l.t.Fatalf("after %v: confirmed is %v, want %v", time.Since(l.start), got, want)
	}
}

func (l *lab) wantWakes(w *waiter, want int64) {
	l.t.Helper()
	synctest.Wait()
	if got := w.wakes.Load(); got != want {
		l.t.Fatalf("after %v: %d wakes, want %d", time.Since(l.start), got, want)
	}
}

func (l *lab) wantSubscribers(channel string, want int) {
	l.t.Helper()
	synctest.Wait()
	if got := l.server.PubSubNumSub(channel)[channel]; got != want {
		l.t.Fatalf("after %v: %d subscribers of %q, want %d", time.Since(l.start), got, channel, want)
	}
}

// A conn is a client's connection that can be made half-open or slow.
type conn struct {
	net.Conn
	hole   atomic.Bool // swallow both ways
	slow   atomic.Bool // each chunk needs a token
	jam    atomic.Bool // Write waits for a token
	let    chan struct{}
	chunks chan []byte // as the server sent them; it must not wait for a slow reader
	rest   []byte      // of the last chunk
	once   sync.Once
	closed chan struct{}
}

func newConn(raw net.Conn) *conn {
	c := &conn{Conn: raw, let: make(chan struct{}, 1000), chunks: make(chan []byte, 10_000), closed: make(chan struct{})}
	go func() {
		defer close(c.chunks)
		for {
			b := make([]byte, 4096)
			n, err := raw.Read(b)
			if n > 0 && !c.hole.Load() {
				c.chunks <- b[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

func (c *conn) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		select {
		case chunk, open := <-c.chunks:
			if !open {
				return 0, io.EOF
			}
			c.rest = chunk
		case <-c.closed:
			return 0, net.ErrClosed
		}
		if c.slow.Load() {
			select {
			case <-c.let:
			case <-c.closed:
				return 0, net.ErrClosed
			}
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *conn) SetReadDeadline(time.Time) error { return nil } // go-redis' comes from the real clock

func (c *conn) Write(b []byte) (int, error) {
	if c.hole.Load() {
		return len(b), nil
	}
	if c.jam.Load() {
		select {
		case <-c.let:
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
