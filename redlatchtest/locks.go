package redlatchtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Expire ends the lease of the lock of this name, as if its holder had died and the time had passed, or the
// key had been deleted. No message is sent: the holder finds out by its next renewal, within a third of its
// watchdog timeout and a second, and waiters when they ask. name is what Redis has the lock by. The test
// fails if the lock is free.
func (s *Server) Expire(name string) {
	s.tb.Helper()
	s.held("Expire", name)
	if err := s.admin.Del(context.Background(), name).Err(); err != nil {
		s.tb.Fatalf("redlatchtest: Expire(%q): %v", name, err)
	}
}

// held fails the test unless there is a held lock of the name.
func (s *Server) held(method, name string) {
	s.tb.Helper()
	switch kind, err := s.admin.Type(context.Background(), name).Result(); {
	case err != nil:
		s.tb.Fatalf("redlatchtest: %s(%q): %v", method, name, err)
	case kind == "none":
		s.tb.Fatalf("redlatchtest: %s(%q): nobody holds a lock of that name", method, name)
	case kind != "hash":
		s.tb.Fatalf("redlatchtest: %s(%q): that is no lock: Redis has a %s under this name", method, name, kind)
	}
}

// age shortens what every key has left to live.
const age = `
for _, key in ipairs(redis.call('keys', '*')) do
	local left = redis.call('pttl', key)
	if left > 0 then
		redis.call('pexpire', key, left - tonumber(ARGV[1]))
	end
end`

// Advance lets d pass for the keys of the server and for no process, as if the processes had been suspended:
// what every key has left to live becomes d shorter, in whole milliseconds. Times that a value contains stay:
// the leases of permits, and the places in the queue of a fair lock. Where all clocks are to go on, use a
// [Bubble] and [time.Sleep].
func (s *Server) Advance(d time.Duration) {
	s.tb.Helper()
	if d < 0 {
		s.tb.Fatalf("redlatchtest: Advance(%v): time does not go back", d)
	}
	err := s.admin.Eval(context.Background(), age, nil, d.Milliseconds()).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.tb.Fatal(fmt.Errorf("redlatchtest: Advance(%v): %w", d, err))
	}
}
