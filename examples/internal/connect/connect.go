// Package connect gives the examples a Redis: the one of REDLATCH_URL, or an embedded server, so that each runs with
// nothing but Go.
package connect

import (
	"fmt"
	"os"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// A Server is where an example keeps its locks.
type Server struct {
	options  *redis.Options
	embedded *miniredis.Miniredis // nil when REDLATCH_URL names a server
	clients  []*redis.Client
}

// Open finds or starts the server. An example that cannot have one ends.
func Open() *Server {
	if url := os.Getenv("REDLATCH_URL"); url != "" {
		options, err := redis.ParseURL(url)
		if err != nil { // it quotes the URL, which may hold a password
			fmt.Fprintln(os.Stderr, "set REDLATCH_URL to redis://[user:password@]host:port[/database], rediss:// for TLS, or unix:///path")
			os.Exit(2)
		}
		return &Server{options: options}
	}
	embedded := miniredis.NewMiniRedis()
	embedded.ClockTTL(true) // leases follow the clock
	if err := embedded.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "the embedded server cannot listen on the loopback address:", err)
		os.Exit(1)
	}
	return &Server{options: &redis.Options{Addr: embedded.Addr()}, embedded: embedded}
}

// Client makes a client. Each stands for a process of its own: two clients share nothing but Redis.
func (s *Server) Client() *redis.Client {
	options := *s.options
	client := redis.NewClient(&options)
	s.clients = append(s.clients, client)
	return client
}

// Close closes the clients and the embedded server.
func (s *Server) Close() {
	for _, client := range s.clients {
		_ = client.Close()
	}
	if s.embedded != nil {
		s.embedded.Close()
	}
}
