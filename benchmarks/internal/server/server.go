// Package server is the Redis that the benchmarks load, and what it has counted.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlatch/redlatch/internal/test/servers"
)

// A Server is a redis-server process of our own, or one that was there before.
type Server struct {
	Addr  string
	admin *redis.Client // one connection, no commands beside ours
	stop  func()
}

// Start starts a redis-server that keeps nothing on disk.
func Start() (*Server, error) {
	process, err := servers.Start()
	if err != nil {
		return nil, fmt.Errorf("%w (or name a server with -url)", err)
	}
	return &Server{Addr: process.Addr(), admin: process.Admin(), stop: func() { _ = process.Close() }}, nil
}

// Use takes a server that is there already. It must be quiet: whatever else it does is counted as ours.
func Use(url string) (*Server, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("-url is redis://host:port: %w", err)
	}
	if options.Username != "" || options.Password != "" || options.DB != 0 || options.TLSConfig != nil {
		return nil, errors.New("-url is redis://host:port, without password, database or TLS")
	}
	conn, err := net.DialTimeout("tcp", options.Addr, 5*time.Second) // by hand, for go-redis prints what it cannot dial
	if err != nil {
		return nil, err
	}
	_ = conn.Close()
	s := connect(options.Addr)
	if err := s.admin.Ping(context.Background()).Err(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func connect(addr string) *Server {
	admin := redis.NewClient(&redis.Options{
		Addr: addr, PoolSize: 1, DisableIdentity: true, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return &Server{Addr: addr, admin: admin, stop: func() { _ = admin.Close() }}
}

// Stop ends a server that Start has started, and lets go of any other.
func (s *Server) Stop() { s.stop() }

// Version is what the server says of itself.
func (s *Server) Version() (string, error) {
	info, err := s.admin.Info(context.Background(), "server").Result()
	return fields(info)["redis_version"], err
}

// Forget deletes the keys of a pattern.
func (s *Server) Forget(pattern string) error {
	ctx := context.Background()
	keys := s.admin.Scan(ctx, 0, pattern, 1000).Iterator()
	for keys.Next(ctx) {
		if err := s.admin.Del(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}

// Counts are what the server had counted at one moment.
type Counts struct {
	Commands map[string]Executions // by name; those inside scripts too
	In, Out  int64                 // bytes
}

// Executions are the number of times that a command was executed, and the server's time for that. The time of a script
// includes the commands that it called.
type Executions struct {
	Calls  int64
	Micros int64
}

// Counts reads them. The reading itself is counted: see Between.
func (s *Server) Counts() (Counts, error) {
	info, err := s.admin.InfoMap(context.Background(), "stats", "commandstats").Result()
	if err != nil {
		return Counts{}, err
	}
	c := Counts{Commands: map[string]Executions{}}
	for section, lines := range info {
		for name, value := range lines {
			command, isCommand := strings.CutPrefix(name, "cmdstat_")
			switch {
			case isCommand:
				var e Executions
				if _, err := fmt.Sscanf(value, "calls=%d,usec=%d", &e.Calls, &e.Micros); err != nil {
					return Counts{}, fmt.Errorf("%s %s says %q: %w", section, name, value, err)
				}
				c.Commands[command] = e
			case name == "total_net_input_bytes":
				c.In, err = strconv.ParseInt(value, 10, 64)
			case name == "total_net_output_bytes":
				c.Out, err = strconv.ParseInt(value, 10, 64)
			}
			if err != nil {
				return Counts{}, err
			}
		}
	}
	return c, nil
}

// outer are the commands that clients send and scripts do not call, whatever the library.
var outer = []string{"evalsha", "eval", "subscribe", "unsubscribe", "ssubscribe", "sunsubscribe", "ping", "script|load"}

// Usage is what happened between two Counts.
type Usage struct{ Commands, Micros, In, Out int64 }

// Add adds the usage of another server, or of another time.
func (u *Usage) Add(more Usage) {
	u.Commands += more.Commands
	u.Micros += more.Micros
	u.In += more.In
	u.Out += more.Out
}

// Between subtracts. also names the commands that are to be counted beside those of scripts and pub/sub: a command
// that a script calls is counted by the server like one that was sent, so the caller has to know which are not.
func Between(before, after Counts, also []string) Usage {
	u := Usage{In: after.In - before.In, Out: after.Out - before.Out}
	for _, names := range [][]string{outer, also} {
		for _, name := range names {
			u.Commands += after.Commands[name].Calls - before.Commands[name].Calls
			u.Micros += after.Commands[name].Micros - before.Commands[name].Micros
		}
	}
	return u
}

func fields(info string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}
