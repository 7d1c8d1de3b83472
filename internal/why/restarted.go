package why

import (
	"context"
	"maps"
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

// starts is what servers have said of their start, lately.
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
func (q *questions) restarted(ctx context.Context, key string, since time.Time) time.Time {
	server, ok := q.ServerOf(ctx, key)
	if !ok {
		return time.Time{}
	}
	is := q.startOf(server, key)
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
	return time.Time{}
}

// startOf is the answer of a server, which may be on its way; nil if the server is not asked, because the user
// has no right to.
func (q *questions) startOf(server any, key string) *start {
	s := &q.starts
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.of, func(_ any, old *start) bool { return time.Since(old.asked) >= askEvery })
	is := s.of[server]
	if is == nil && !s.refused {
		if s.of == nil {
			s.of = map[any]*start{}
		}
		is = &start{known: make(chan struct{}), asked: clock.Now()}
		s.of[server] = is
		go q.askStart(is, key)
	}
	return is
}

// askStart asks, once.
func (q *questions) askStart(is *start, key string) {
	defer close(is.known)
	ctx, cancel := q.Background(within)
	defer cancel()
	info := redis.NewStringCmd(context.Background(), "info", "server")
	err := q.Dispatch.Do(ctx, key, info, dispatch.ToMaster)
	if err == nil {
		if age, ok := ageOf(info.Val()); ok {
			is.after = is.asked.Add(-age)
		}
		return
	}
	if outcome.Forbidden(err) {
		q.starts.mu.Lock()
		q.starts.refused = true
		q.starts.mu.Unlock()
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
