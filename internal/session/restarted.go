package session

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/outcome"
)

// askEvery is how often a server is asked at most when it was started. A server that has lost its data is
// found out by each hold at its next renewal, and the first of them has asked.
const askEvery = 5 * time.Second

// starts is what servers have said of their start.
type starts struct {
	mu      lockorder.Mutex[lockorder.Starts]
	of      map[any]*start // by server
	refused bool           // the user has no right to INFO
}

// A start is one answer.
type start struct {
	known chan struct{}
	asked time.Time // a moment before the server was asked
	// set before known is closed: the server was started after this moment, and about a second later at most;
	// zero: it has not said so
	after time.Time
}

// restarted is when the server that has key was started, if that was after a moment; else, or if that is not
// known, it is zero.
func (s *Session) restarted(ctx context.Context, key string, since time.Time) time.Time {
	server, ok := s.serverOf(ctx, key)
	if !ok {
		return time.Time{}
	}
	for {
		is := s.startOf(server, key, since)
		if is == nil {
			return time.Time{}
		}
		select {
		case <-is.known:
		case <-ctx.Done():
			return time.Time{}
		}
		if is.after.After(since) {
			return is.after
		}
		if time.Since(is.asked) < askEvery {
			return time.Time{}
		}
	}
}

// serverOf tells the servers of a client apart. It is not ok where it is not known which of several servers
// would answer.
func (s *Session) serverOf(ctx context.Context, key string) (server any, ok bool) {
	switch {
	case s.topology != nil:
		master, err := s.topology.MasterForKey(ctx, key)
		return master, err == nil
	case s.cluster.Load(), s.slotted.Load():
		return nil, false
	}
	return s.Client, true
}

// startOf is the answer of a server, which may be on its way; nil if the server is not asked. An answer is
// asked for if the last one is old and says nothing about the time after since.
func (s *Session) startOf(server any, key string, since time.Time) *start {
	s.starts.mu.Lock()
	defer s.starts.mu.Unlock()
	if s.starts.refused {
		return nil
	}
	is := s.starts.of[server]
	if is != nil {
		select {
		case <-is.known:
			if is.after.After(since) || time.Since(is.asked) < askEvery {
				return is
			}
		default:
			return is
		}
	}
	is = &start{known: make(chan struct{}), asked: clock.Now()}
	if s.starts.of == nil {
		s.starts.of = map[any]*start{}
	}
	for other, old := range s.starts.of { // servers leave a cluster
		if time.Since(old.asked) > forgetStart {
			delete(s.starts.of, other)
		}
	}
	s.starts.of[server] = is
	go s.askStart(is, key)
	return is
}

// forgetStart is how long an answer is kept, at least. An older one would tell only of losses from before it.
const forgetStart = time.Hour

// askStart asks, once.
func (s *Session) askStart(is *start, key string) {
	defer close(is.known)
	ctx, cancel := s.whyContext()
	defer cancel()
	info := redis.NewStringCmd(context.Background(), "info", "server")
	err := s.Dispatch.Do(ctx, key, info, dispatch.ToMaster)
	if err == nil {
		if age, ok := ageOf(info.Val()); ok {
			is.after = is.asked.Add(-age)
		}
		return
	}
	if outcome.Forbidden(err) {
		s.starts.mu.Lock()
		s.starts.refused = true
		s.starts.mu.Unlock()
	}
}

// ageOf is how long a server runs at most, by what INFO says. It counts in whole seconds from the second in
// which it was started.
func ageOf(info string) (age time.Duration, ok bool) {
	number := func(name string) (int64, bool) {
		_, rest, found := strings.Cut("\n"+info, "\n"+name+":")
		text, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		return n, found && err == nil
	}
	uptime, ok := number("uptime_in_seconds")
	if !ok || uptime < 0 {
		return 0, false
	}
	age = time.Duration(uptime) * time.Second
	if now, ok := number("server_time_usec"); ok { // what has passed of the present second
		return age + time.Duration(now%1e6)*time.Microsecond, true
	}
	return age + time.Second, true
}
