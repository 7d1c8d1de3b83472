package scripting_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/proof/internal/scripting"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// quiet is what the client library logs through: it reports each failed connection.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	os.Exit(m.Run())
}

// A request is a command and when it was sent.
type request struct {
	after time.Duration
	args  []any
}

// A tap notes the commands of the clients that it is put on.
type tap struct {
	start time.Time

	mu       sync.Mutex
	on       map[redis.UniversalClient]bool
	requests []request
}

func (t *tap) put(clients ...redis.UniversalClient) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range clients {
		if !t.on[c] {
			t.on[c] = true
			c.AddHook(t)
		}
	}
}

func (t *tap) note(cmds ...redis.Cmder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cmd := range cmds {
		switch cmd.Name() {
		case "hello", "client", "subscribe", "unsubscribe":
		default:
			t.requests = append(t.requests, request{time.Since(t.start), cmd.Args()})
		}
	}
}

func (t *tap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (t *tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { t.note(cmd); return next(ctx, cmd) }
}

func (t *tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { t.note(cmds...); return next(ctx, cmds) }
}

// requests are what the clients of a simulation send.
func requests(t *testing.T, seed uint64) []request {
	t.Helper()
	tap := &tap{on: map[redis.UniversalClient]bool{}}
	suite := sim.Library
	locker, semaphore, latch := suite.Locker, suite.Semaphore, suite.Latch
	suite.Locker = func(rdb []redis.UniversalClient, o sim.Object, way string) sim.Locker {
		tap.put(rdb...)
		return locker(rdb, o, way)
	}
	suite.Semaphore = func(rdb redis.UniversalClient, o sim.Object) sim.Counter {
		tap.put(rdb)
		return semaphore(rdb, o)
	}
	suite.Latch = func(rdb redis.UniversalClient, o sim.Object) sim.Barrier {
		tap.put(rdb)
		return latch(rdb, o)
	}
	prepare := suite.Prepare
	suite.Prepare = func(ctx context.Context, rdb redis.UniversalClient, o sim.Object) error {
		tap.put(rdb)
		return prepare(ctx, rdb, o)
	}
	synctest.Test(t, func(*testing.T) {
		tap.start = time.Now()
		sim.Run(sim.Draw(seed), suite)
	})
	return tap.requests
}

// A server answers one client through a pipe.
type server struct {
	*miniredis.Miniredis
	rdb redis.UniversalClient
	now time.Duration
}

func serve(t *testing.T, ours bool) *server {
	t.Helper()
	m := miniredis.RunT(t)
	if ours {
		scripting.Serve(m.Server())
	}
	s := &server{Miniredis: m, rdb: redis.NewClient(&redis.Options{Addr: "memory", MaxRetries: -1, PoolSize: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			client, side := net.Pipe()
			m.Server().ServeConn(side)
			return client, nil
		}})}
	t.Cleanup(func() { _ = s.rdb.Close() })
	return s
}

// ask sends a request at its own time.
func (s *server) ask(r request) (answer any, err error) {
	epoch := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s.FastForward(r.after - s.now)
	s.SetTime(epoch.Add(r.after))
	s.now = r.after
	return s.rdb.Do(context.Background(), r.args...).Result()
}

// Both ways to run scripts give the same answers to what all primitives send, and leave the same keys.
func TestScriptsAnswerAsThoseOfTheServer(t *testing.T) {
	scripts := map[string]bool{}
	for seed := range uint64(20) {
		theirs, ours := serve(t, false), serve(t, true)
		for n, r := range requests(t, 900+seed) {
			want, refused := theirs.ask(r)
			got, failure := ours.ask(r)
			if !reflect.DeepEqual(got, want) || kind(failure) != kind(refused) {
				t.Fatalf("seed %d, request %d, %.200q:\ngot  %v, %v\nwant %v, %v", 900+seed, n, r.args, got, failure, want, refused)
			}
			if name := fmt.Sprint(r.args[0]); strings.HasPrefix(name, "eval") {
				scripts[fmt.Sprint(r.args[1])] = true
			}
		}
		if got, want := ours.Dump(), theirs.Dump(); got != want {
			t.Fatalf("seed %d leaves\n%s\nwant\n%s", 900+seed, got, want)
		}
	}
	t.Logf("%d scripts", len(scripts))
	if len(scripts) < 30 {
		t.Errorf("only %d scripts were compared", len(scripts))
	}
}

// kind is the first word of an error: the rest differs from server to server.
func kind(err error) string {
	if err == nil || errors.Is(err, redis.Nil) {
		return fmt.Sprint(err)
	}
	word, _, _ := strings.Cut(err.Error(), " ")
	return word
}
