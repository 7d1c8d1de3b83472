package wakeup_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/wakeup"
)

// A dialHook fails while it is armed.
type dialHook struct {
	fail  func()
	armed atomic.Bool
	blown atomic.Int64
}

func (m *dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if m.armed.Load() {
			m.blown.Add(1)
			m.fail()
		}
		return next(ctx, network, addr)
	}
}

func (*dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (*dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

var hooks = map[string]func(){"panic": func() { panic("a hook") }, "Goexit": runtime.Goexit}

// No program could recover from it. It is a connection that failed: once in the log, and the back-off goes on.
func TestAHookThatPanicsWhileDiallingIsAFailedConnection(t *testing.T) {
	for name, fail := range hooks {
		for when, prepare := range map[string]func(l *lab) *waiter{
			"at first": func(*lab) *waiter { return nil },
			"after a loss": func(l *lab) *waiter { // the reader is the first to notice, and go-redis dials on its goroutine
				a := l.listen("a")
				l.wantConfirmed(a, true)
				return a
			},
		} {
			t.Run(name+" "+when, func(t *testing.T) {
				inLab(t, func(l *lab) {
					var log bytes.Buffer
					l.hub = wakeup.New(wakeup.Config{Client: l.client, Idle: time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))})
					h := &dialHook{fail: fail}
					l.client.AddHook(h)
					a := prepare(l)
					h.armed.Store(true)
					if a == nil {
						a = listen(l.hub, "a")
					} else if err := l.last().Close(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					synctest.Wait()
					if n := h.blown.Load(); n < 20 || n > 70 {
						t.Fatalf("%d attempts in a minute", n)
					}
					h.armed.Store(false)
					time.Sleep(4 * time.Second)
					l.wantConfirmed(a, true)
					wakes := a.wakes.Load()
					l.server.Publish("a", "0")
					l.wantWakes(a, wakes+1)
					a.Close()
					time.Sleep(time.Second)
					if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
						t.Fatalf("%d lines at Error, want 1:\n%s", n, log.String())
					}
					if strings.Contains(log.String(), "level=WARN") {
						t.Fatalf("it is told twice:\n%s", log.String())
					}
				})
			})
		}
	}
}

// So it is where the topology is asked for.
func TestAHookThatPanicsWhileTheMasterIsLookedForIsAFailedSearch(t *testing.T) {
	for name, fail := range hooks {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				var log bytes.Buffer
				var armed atomic.Bool
				armed.Store(true)
				hub := wakeup.New(wakeup.Config{
					Client: l.client,
					Shard: func(context.Context, string) (any, wakeup.Client, error) {
						if armed.Load() {
							fail()
						}
						return nil, nil, errors.New("no topology")
					},
					Reload: func() {
						if armed.Load() {
							fail()
						}
					},
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				a := listen(hub, "a")
				time.Sleep(time.Minute)
				armed.Store(false)
				time.Sleep(time.Minute)
				a.Close()
				time.Sleep(time.Minute)
				if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
					t.Fatalf("%d lines at Error, want 1:\n%s", n, log.String())
				}
			})
		})
	}
}
