package redistest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/servers"
)

// A Server is one Redis that a test talks to. Its methods fail the test that the server was made for.
type Server struct {
	Name string               // "miniredis" or "redis"
	Real bool                 // a redis-server, not miniredis
	Addr string               // host:port
	Mini *miniredis.Miniredis // nil on a real server

	tb      testing.TB
	options redis.Options   // the address; for a foreign server also user, password, database and TLS
	admin   *redis.Client   // asks what the methods below report; nil on miniredis
	calls   *callCounter    // stands in for INFO commandstats; miniredis only
	process *servers.Server // nil unless the server is a process that we started
	token   string          // part of every name made by Key: on a shared server it tells our keys from others'
	keys    atomic.Int64    // names made by Key so far
}

// Each runs fn as a subtest on miniredis and, at the same time, as another on a real server (see Real for which).
func Each(t *testing.T, fn func(t *testing.T, srv *Server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { t.Parallel(); fn(t, Mini(t)) })
	t.Run("redis", func(t *testing.T) { t.Parallel(); fn(t, Real(t)) })
}

// EachAlone is Each for what looks at the whole process: one after the other.
func EachAlone(t *testing.T, fn func(t *testing.T, srv *Server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { fn(t, Mini(t)) })
	t.Run("redis", func(t *testing.T) { fn(t, Real(t)) })
}

// Client returns a client of this server with the default options, after change, closed with the test.
func (s *Server) Client(tb testing.TB, change ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	options := s.options
	for _, c := range change {
		c(&options)
	}
	client := redis.NewClient(&options)
	tb.Cleanup(func() { _ = client.Close() }) // a test that closed it already gets ErrClosed here
	return client
}

// Key returns a name that nothing else on this server uses: base, and behind it what tells this test and this call
// from all others. Names derived from it (queues, channels) contain it, so Keys and Flush find those too. None of the
// names is the beginning of another.
func (s *Server) Key(tb testing.TB, base string) string {
	tb.Helper()
	return fmt.Sprintf("%s.%s.%06d", base, s.token, s.keys.Add(1))
}

// Keys returns the keys on the server. On a server that others use as well (REDLATCH_REDIS_URL) these are the keys
// with a name from Key in theirs.
func (s *Server) Keys(tb testing.TB) []string {
	tb.Helper()
	if s.Mini != nil {
		return s.Mini.Keys()
	}
	pattern := "*"
	if s.process == nil {
		pattern = "*" + s.token + "*"
	}
	var keys []string
	ctx := context.Background()
	scan := s.admin.Scan(ctx, 0, pattern, 1000).Iterator()
	for scan.Next(ctx) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		tb.Fatalf("redistest: list the keys of %s: %v", s.Addr, err)
	}
	return keys
}

// Flush deletes what Keys returns.
func (s *Server) Flush(tb testing.TB) {
	tb.Helper()
	var err error
	switch {
	case s.Mini != nil:
		s.Mini.FlushAll()
	case s.process != nil:
		err = s.admin.FlushAll(context.Background()).Err()
	default:
		if keys := s.Keys(tb); len(keys) > 0 {
			err = s.admin.Del(context.Background(), keys...).Err()
		}
	}
	if err != nil {
		tb.Fatalf("redistest: flush %s: %v", s.Addr, err)
	}
}

// CommandStats returns how often each command was called since the server started, by its lower-case name, as INFO
// commandstats tells it ("evalsha", "client|setinfo"; miniredis does not tell subcommands apart). Calls made by
// scripts are counted beside the script's own. INFO is left out: it is how we ask.
func (s *Server) CommandStats(tb testing.TB) map[string]int64 {
	tb.Helper()
	if s.calls != nil {
		return s.calls.snapshot()
	}
	info, err := s.admin.Info(context.Background(), "commandstats").Result()
	if err != nil {
		tb.Fatalf("redistest: ask %s for its command statistics: %v", s.Addr, err)
	}
	stats := make(map[string]int64)
	for line := range strings.Lines(info) {
		rest, ok := strings.CutPrefix(line, "cmdstat_")
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(rest, ":calls=")
		calls, _, _ := strings.Cut(rest, ",")
		n, err := strconv.ParseInt(calls, 10, 64)
		if err != nil {
			tb.Fatalf("redistest: %s answered INFO commandstats with the line %q: %v", s.Addr, line, err)
		}
		stats[name] = n
	}
	delete(stats, "info")
	return stats
}

// Scripts returns how many scripts clients have sent since the server started.
func (s *Server) Scripts(tb testing.TB) int64 {
	tb.Helper()
	stats := s.CommandStats(tb)
	return stats["evalsha"] + stats["eval"]
}

// Commands returns the sum of CommandStats without what sets up a connection (HELLO, AUTH, SELECT, CLIENT), which
// comes and goes with the connection pool. A claim about the number of commands takes the difference of two calls.
func (s *Server) Commands(tb testing.TB) int64 {
	tb.Helper()
	var sum int64
	for name, calls := range s.CommandStats(tb) {
		switch command, _, _ := strings.Cut(name, "|"); command {
		case "hello", "auth", "select", "client":
		default:
			sum += calls
		}
	}
	return sum
}
