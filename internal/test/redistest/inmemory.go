package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Bubble runs a test in a bubble of testing/synctest that ends well: what the library does in the background goes as far
// as it can before the cleanups take its server and its clients away. Without that it would meet their end, sleep before
// it asks again, and the bubble, whose clock stands still when the test is over, would panic. Clients are therefore to be
// closed by Cleanup, not by defer.
func Bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer synctest.Wait()
		test(t)
	})
}

// InMemory returns a miniredis without a socket and a client of it. Both work inside a Bubble: keys
// expire with the bubble's clock and a goroutine that waits for a reply counts as blocked. They are closed with the
// test, or with the bubble when tb is the bubble's.
func InMemory(tb testing.TB) (*miniredis.Miniredis, *redis.Client) {
	tb.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	tb.Cleanup(m.Close)
	client := redis.NewClient(InMemoryOptions(m))
	tb.Cleanup(func() { _ = client.Close() })
	return m, client
}

// InMemoryOptions are the options of a client of m that needs no socket: for a second client of InMemory's server. They
// start m if it has not been started.
func InMemoryOptions(m *miniredis.Miniredis) *redis.Options {
	if m.Server() == nil {
		first, err := m.Dial()
		if err != nil {
			panic("redistest: start miniredis in memory: " + err.Error())
		}
		_ = first.Close()
	}
	return &redis.Options{
		Addr: "in-memory", // shown in errors only
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			m.Server().ServeConn(newBufferedConn(far))
			return newBufferedConn(near), nil
		},
		// go-redis keeps the timers with which it waits for a free connection in a process-wide pool, and a timer of
		// one bubble panics in another. With this many connections nobody waits for one.
		PoolSize: 1000,
		// Would look up the host name, which is real I/O and stops a bubble's clock.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// A bufferedConn never blocks in Write. On the bare net.Pipe, which holds no byte, a pipeline larger than the
// server's read buffer is a deadlock: the client still writes while the server already waits to be read from. So is a
// message to a subscriber who sleeps: miniredis publishes under its global lock, and who waits for a mutex stops a
// bubble's clock.
type bufferedConn struct {
	net.Conn
	wake   chan struct{} // of one: there is something to write, or nothing more to come
	mu     sync.Mutex
	unsent []byte
	err    error // why Write refuses: closed, or the other end is gone
}

func newBufferedConn(conn net.Conn) *bufferedConn {
	c := &bufferedConn{Conn: conn, wake: make(chan struct{}, 1)}
	go c.send()
	return c
}

func (c *bufferedConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.unsent = append(c.unsent, b...)
	c.rouse()
	return len(b), nil
}

// The deadline of the client's write is not one for send, which comes later.
func (c *bufferedConn) SetWriteDeadline(time.Time) error     { return nil }
func (c *bufferedConn) SetDeadline(deadline time.Time) error { return c.SetReadDeadline(deadline) }

// Close drops what is unsent, as a reset would, and ends send.
func (c *bufferedConn) Close() error {
	c.fail(net.ErrClosed)
	return c.Conn.Close() // also ends a write that is stuck
}

// send owns the writing side of the pipe until the connection fails or is closed.
func (c *bufferedConn) send() {
	for range c.wake {
		c.mu.Lock()
		chunk, err := c.unsent, c.err
		c.unsent = nil
		c.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := c.Conn.Write(chunk); err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *bufferedConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.rouse()
}

func (c *bufferedConn) rouse() {
	select {
	case c.wake <- struct{}{}:
	default: // send will look anyway
	}
}
