package redistest

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlatch/redlatch/internal/test/servers"
)

const (
	urlVariable     = "REDLATCH_REDIS_URL"    // a server to use instead of processes of our own
	requireVariable = "REDLATCH_REQUIRE_REAL" // "1": a missing server is a failure, not a skip
)

// Real returns a real server: the one of REDLATCH_REDIS_URL, which others may use at the same time, else a
// redis-server process of the test's own. Without both the test is skipped, or fails where REDLATCH_REQUIRE_REAL=1.
func Real(tb testing.TB) *Server {
	tb.Helper()
	if url := os.Getenv(urlVariable); url != "" {
		return foreign(tb, url)
	}
	return Process(tb)
}

// RequireProgram skips the test when there is no server program to start, or fails it where REDLATCH_REQUIRE_REAL=1. A test that
// starts servers by package servers calls it first.
func RequireProgram(tb testing.TB) {
	tb.Helper()
	err := servers.Look()
	if err == nil {
		return
	}
	const orURL = " (tests of a single server also take " + urlVariable + "=redis://host:port)"
	if os.Getenv(requireVariable) == "1" {
		tb.Fatal("redistest: this test needs a real Redis, and " + requireVariable + "=1 forbids to skip it: " + err.Error() + orURL)
	}
	tb.Skip("redistest: left out the part that needs a real Redis: " + err.Error() + orURL)
}

// foreign returns the server of a URL. Whatever the test leaves behind under names of Key is deleted with the test.
func foreign(tb testing.TB, url string) *Server {
	tb.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatalf("redistest: set %s to redis://[user:password@]host:port[/database]: %v", urlVariable, err)
	}
	s := &Server{Name: "redis", Real: true, Addr: options.Addr, tb: tb, options: *options, token: newToken()}
	s.admin = newAdmin(tb, s.options)
	if err := s.admin.Ping(context.Background()).Err(); err != nil {
		tb.Fatalf("redistest: the server of %s does not answer: %v", urlVariable, err)
	}
	tb.Cleanup(func() { s.Flush(tb) })
	return s
}

// newAdmin returns the client with which a Server is asked about itself: one connection, no commands beside ours.
func newAdmin(tb testing.TB, options redis.Options) *redis.Client {
	options.PoolSize = 1
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	admin := redis.NewClient(&options)
	tb.Cleanup(func() { _ = admin.Close() })
	return admin
}
