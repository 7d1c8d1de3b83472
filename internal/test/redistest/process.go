package redistest

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/servers"
)

// Process returns an empty server process of the test's own, which the test may Stop, Continue, Kill and Restart; args
// are added to its command line ("--appendonly", "yes"). It keeps nothing on disk unless args say so. Without a server
// program (see package servers) the test is skipped, or fails where REDLATCH_REQUIRE_REAL=1.
func Process(tb testing.TB, args ...string) *Server {
	tb.Helper()
	RequireProgram(tb)
	process, err := servers.Start(args...)
	must(tb, err)
	closed(tb, process.Close)
	return own(tb, process)
}

// own makes a process the test's. Its topology closes it.
func own(tb testing.TB, process *servers.Server) *Server {
	return &Server{
		Name: "redis", Real: true, Addr: process.Addr(),
		tb: tb, options: redis.Options{Addr: process.Addr()}, admin: process.Admin(), process: process, token: newToken(),
	}
}

// Stop freezes the process (SIGSTOP) and returns when it stands still: connections stay open, nobody answers.
func (s *Server) Stop() { s.tb.Helper(); s.must(s.own().Stop()) }

// Continue lets a stopped process run on (SIGCONT). It then executes what clients sent meanwhile.
func (s *Server) Continue() { s.tb.Helper(); s.must(s.own().Continue()) }

// Kill ends the process at once (SIGKILL), stopped or not, and returns when it is gone.
func (s *Server) Kill() { s.tb.Helper(); s.must(s.own().Kill()) }

// Restart starts the process again on the same port, after a Kill if it still runs, and returns when it answers. It
// is empty then, unless Process was told to keep data.
func (s *Server) Restart() { s.tb.Helper(); s.must(s.own().Restart()) }

func (s *Server) own() *servers.Server {
	s.tb.Helper()
	if s.process == nil {
		s.tb.Fatalf("redistest: %s (%s) is no process of this test; get one from redistest.Process", s.Name, s.Addr)
	}
	return s.process
}

func (s *Server) must(err error) {
	s.tb.Helper()
	if errors.Is(err, errors.ErrUnsupported) {
		s.tb.Skip("redistest: this system cannot stop and continue a process")
	}
	must(s.tb, err)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// closed closes something with the test.
func closed(tb testing.TB, close func() error) {
	tb.Cleanup(func() {
		tb.Helper()
		if err := close(); err != nil {
			tb.Error(err)
		}
	})
}
