package redlatchtest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/test/proxy"
	"github.com/redlatch/redlatch/internal/test/servers"
)

// A Server is a Redis of one test, whose clients reach it by connections that the test can break. Its methods may be called
// from any goroutine until the test ends. What goes wrong in them fails the test.
type Server struct {
	tb    testing.TB
	name  string                   // which its clients take for an address
	dial  func() (net.Conn, error) // past the proxy
	proxy *proxy.Proxy
	admin *redis.Client // sees no fault

	failing atomic.Int32 // how many Fail are in force

	mu       sync.Mutex
	clients  []*redis.Client
	thieves  []*redlatch.Hold
	lost     []losing
	failures []func() // what ends each Fail
}

// An Option changes what Run runs.
type Option func(*config)

type config struct{ real bool }

// Real has Run start a redis-server for the test: the program that the environment variable REDLATCH_SERVER names, else the
// redis-server on the PATH. The test fails where there is none.
func Real() Option { return func(c *config) { c.real = true } }

// Run returns an empty server that lasts as long as the test: a miniredis in the memory of the test, whose keys expire with
// the clock, or with [Real] a process.
//
// When the test ends, its faults end, its clients are closed, and holds that the test has not given back are left to their
// leases.
func Run(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	var c config
	for _, opt := range opts {
		opt(&c)
	}
	holds.Enter()
	s := &Server{tb: tb, name: fmt.Sprintf("redlatchtest-%d:6379", number.Add(1))}
	if c.real {
		s.dial = realServer(tb)
	} else {
		s.dial = memoryServer(tb)
	}
	s.proxy = proxy.New(s.dial)
	s.admin = redis.NewClient(options(s.name, s.dial))
	tb.Cleanup(s.close)
	return s
}

// number is how many servers there have been.
var number atomic.Int64

func memoryServer(tb testing.TB) func() (net.Conn, error) {
	tb.Helper()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	first, err := server.Dial() // it runs from then on
	if err != nil {
		tb.Fatalf("redlatchtest: run miniredis: %v", err)
	}
	_ = first.Close()
	tb.Cleanup(server.Close)
	return func() (net.Conn, error) {
		near, far := net.Pipe()
		server.Server().ServeConn(far)
		return near, nil
	}
}

func realServer(tb testing.TB) func() (net.Conn, error) {
	tb.Helper()
	if fakeClock() {
		tb.Fatal("redlatchtest: a real server has a clock of its own and is reached by a socket, so it cannot be used in a bubble of " +
			"testing/synctest; leave out Real, or run the test on the real clock")
	}
	if err := servers.Look(); err != nil {
		tb.Fatalf("redlatchtest: Real finds no server program; install redis-server 6.2 or newer, or name one in the "+
			"environment variable %s: %v", servers.Variable, err)
	}
	process, err := servers.Start()
	if err != nil {
		tb.Fatalf("redlatchtest: start a server: %v", err)
	}
	tb.Cleanup(func() { _ = process.Close() })
	return func() (net.Conn, error) { return net.Dial("tcp", process.Addr()) }
}

// Client returns a client of the server, another one each time. For locks each is a process: those of different clients
// exclude one another as those of different machines do. It is closed when the test ends.
func (s *Server) Client() *redis.Client {
	client := redis.NewClient(s.Options())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, client)
	return client
}

// Options returns what a client of the server is made with, for a test that wants some of it changed or makes its clients by
// other means. It is to keep the Dialer. The test closes such a client.
func (s *Server) Options() *redis.Options { return options(s.name, s.proxy.Dial) }

func options(addr string, dial func() (net.Conn, error)) *redis.Options {
	options := &redis.Options{
		Addr:   addr,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return dial() },
		// It looks up the host name, which would stop the clock of a bubble.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if fakeClock() {
		// go-redis shares the timers by which it waits for a free connection between bubbles. So nobody may have to wait.
		options.PoolSize = 1000
	}
	return options
}

// Addr returns a host and port at which the server is reached, for a program that makes its own client. There is none in a
// [Bubble].
func (s *Server) Addr() string {
	s.tb.Helper()
	if fakeClock() {
		s.tb.Fatal("redlatchtest: a bubble has no sockets, so its server has no address; have the program take a client, or Options")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proxy.Addr() == "" {
		if err := s.proxy.Listen(); err != nil {
			s.tb.Fatalf("redlatchtest: find a port for the server: %v", err)
		}
	}
	return s.proxy.Addr()
}

// fakeClock tells whether this is a bubble of testing/synctest. Its clock begins with the year 2000.
func fakeClock() bool { return time.Now().Year() < 2020 }
