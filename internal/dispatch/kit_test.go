package dispatch_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
)

const rtt = 200 * time.Microsecond // short enough for few leaders

// A server is a client whose round trips take rtt and whose reply to every command is the command's own number.
type server struct {
	rtt    time.Duration
	mu     sync.Mutex
	trips  []int         // commands in each round trip, in the order of their departure
	sent   map[int64]int // how often each command left
	now    int           // round trips under way
	most   int
	before func(cmd redis.Cmder) // on the goroutine that sends
}

func newServer() *server { return &server{rtt: rtt, sent: map[int64]int{}} }

func (s *server) Process(_ context.Context, cmd redis.Cmder) error {
	s.trip(cmd)
	return cmd.Err()
}

func (s *server) Pipeline() redis.Pipeliner { return &pipeline{server: s} }

func (s *server) trip(cmds ...redis.Cmder) {
	s.mu.Lock()
	s.trips = append(s.trips, len(cmds))
	s.now++
	s.most = max(s.most, s.now)
	for _, cmd := range cmds {
		s.sent[number(cmd)]++
	}
	before, rtt := s.before, s.rtt
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	if before != nil {
		before(cmds[0])
	}
	time.Sleep(rtt)
	for _, cmd := range cmds {
		cmd.(*redis.IntCmd).SetVal(number(cmd))
	}
}

// becomes changes the time of the round trips from now on. It returns the most that were under way, to count afresh.
func (s *server) becomes(rtt time.Duration) (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most = s.most
	s.rtt, s.most = rtt, s.now
	return most
}

func (s *server) departures() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int(nil), s.trips...)
}

// A pipeline has only the methods that the dispatcher may use; the others panic.
type pipeline struct {
	redis.Pipeliner
	server *server
	cmds   []redis.Cmder
}

func (p *pipeline) Process(_ context.Context, cmd redis.Cmder) error {
	p.cmds = append(p.cmds, cmd)
	return nil
}

func (p *pipeline) Exec(context.Context) ([]redis.Cmder, error) {
	p.server.trip(p.cmds...)
	return p.cmds, nil
}

func command(n int64) *redis.IntCmd { return redis.NewIntCmd(context.Background(), "echo", n) }

func number(cmd redis.Cmder) int64 { return cmd.Args()[1].(int64) }

func linger(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// start sends command n and returns where its error arrives. The command is on its way, or queued.
func start(ctx context.Context, d *dispatch.Dispatcher, cmd redis.Cmder) <-chan error {
	result := make(chan error, 1)
	go func() { result <- d.Do(ctx, "key", cmd, dispatch.ToMaster) }()
	synctest.Wait()
	return result
}

// busy occupies all leaders of a fast server with commands from -1 downwards and returns where their errors arrive.
func busy(ctx context.Context, d *dispatch.Dispatcher) <-chan error {
	results := make(chan error, dispatch.FewLeaders)
	for i := range int64(dispatch.FewLeaders) {
		go func() { results <- d.Do(ctx, "key", command(-1-i), dispatch.ToMaster) }()
	}
	synctest.Wait()
	return results
}

func requireIdle(t *testing.T, d *dispatch.Dispatcher) {
	t.Helper()
	leaders, queued, parked := d.Load()
	require.Zero(t, leaders, "leaders that nobody ended")
	require.Zero(t, queued, "commands that nobody takes")
	require.Zero(t, parked, "workers that stayed")
}

// ended is the command of a flight when it has ended.
func ended(t *testing.T, flight *dispatch.InFlight) *redis.IntCmd {
	t.Helper()
	cmd, is := flight.Wait(time.Minute)
	require.True(t, is)
	return cmd.(*redis.IntCmd)
}

// workers is how many goroutines are workers. What else ends meanwhile, of the test before, does not count.
func workers() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "dispatch.(*node).work(")
}
