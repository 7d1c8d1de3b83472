package redlatchtest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/proxy"
)

// LoseNextReply has the server execute the next command for a lock, semaphore or latch of this name, and the client not learn
// of it: the connection is closed in place of the reply. name is what Redis has it by. Commands that the server refuses, by
// [Server.Fail], are not meant. The test fails if no command comes.
func (s *Server) LoseNextReply(name string) {
	touches := touches(name)
	rule := s.proxy.On(func(c proxy.Command) bool { return s.failing.Load() == 0 && touches(c) }, 1, proxy.LoseReply)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = append(s.lost, losing{name, rule})
}

// A losing is one LoseNextReply.
type losing struct {
	name string
	rule *proxy.Rule
}

// end removes the rule, and says that it was never used.
func (l losing) end(tb testing.TB) {
	tb.Helper()
	l.rule.Remove()
	if l.rule.Hits() == 0 {
		tb.Errorf("redlatchtest: LoseNextReply(%q): no command for that name came, so no reply was lost", l.name)
	}
}

// touches matches the commands for what has this name. A subscription does nothing to it.
func touches(name string) func(proxy.Command) bool {
	tag := keys.Tag(name)
	return func(c proxy.Command) bool {
		return !strings.HasSuffix(c.Name, "SUBSCRIBE") && slices.ContainsFunc(c.Args, func(arg string) bool {
			return arg == name || strings.Contains(arg, tag)
		})
	}
}

// CutConnections closes all connections of the clients. What a client has sent before is executed. New connections are
// accepted at once.
func (s *Server) CutConnections() { s.proxy.CutAll() }

// DropMessages has published messages not arrive until deliver is called. Waiters find out by asking, after the time of
// [redlatch.WithPoll] at the latest. A message on its way at the moment of a call may be taken for one that comes later.
func (s *Server) DropMessages() (deliver func()) {
	s.proxy.DropMessages(true)
	return func() { s.proxy.DropMessages(false) }
}

// Hang has the server stand still until resume is called. Its connections stay, new ones are accepted, and no
// command is answered. Then it executes what it was sent meanwhile, also what a client has given up on.
func (s *Server) Hang() (resume func()) {
	s.proxy.Freeze(true)
	return func() { s.proxy.Freeze(false) }
}

// Down has the server be gone until up is called: its connections are closed, and new ones are refused. It keeps its data.
func (s *Server) Down() (up func()) {
	s.tb.Helper()
	s.refuse(true)
	s.proxy.CutAll()
	return func() { s.tb.Helper(); s.refuse(false) }
}

func (s *Server) refuse(refuse bool) {
	s.tb.Helper()
	if err := s.proxy.Refuse(refuse); err != nil {
		s.tb.Errorf("redlatchtest: %v", err)
	}
}

// Fail has the server answer every command with err, and execute none, until restore is called. The text of err should begin
// with the code that Redis would give: "LOADING Redis is loading the dataset in memory", "OOM ...", "READONLY ...",
// "NOPERM ..."; otherwise the code is ERR. Connections can still be made.
func (s *Server) Fail(err error) (restore func()) {
	rule := s.proxy.On(func(c proxy.Command) bool {
		return c.Name != "HELLO" && c.Name != "AUTH" && c.Name != "CLIENT" && c.Name != "SELECT"
	}, 0, proxy.Refuse(answer(err)))
	s.failing.Add(1)
	restore = sync.OnceFunc(func() { rule.Remove(); s.failing.Add(-1) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, restore)
	return restore
}

// answer is err as Redis would say it: one line, with a code in front.
func answer(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	code, _, _ := strings.Cut(text, " ")
	if code == "" || strings.ContainsFunc(code, func(r rune) bool { return !unicode.IsUpper(r) }) {
		return "ERR " + text
	}
	return text
}

// heal ends the faults that a test has left behind.
func (s *Server) heal() {
	s.tb.Helper()
	s.mu.Lock()
	lost, failures := s.lost, s.failures
	s.mu.Unlock()
	for _, l := range lost {
		l.end(s.tb)
	}
	for _, restore := range failures {
		restore()
	}
	if err := s.proxy.Heal(); err != nil {
		s.tb.Errorf("redlatchtest: %v", err)
	}
}
