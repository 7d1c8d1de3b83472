package fleet_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A cut lets pipelines through, and has something happen to one of them.
type cut struct {
	at   int64 // which one: 1 is the first, 0 none
	how  func(send func(cmds []redis.Cmder) error, cmds []redis.Cmder) error
	seen atomic.Int64
}

// notOurs are first in the pipelines by which go-redis makes a connection, and in those of primitives, which send them again.
var notOurs = []string{"hello", "client", "eval", "evalsha"}

func (c *cut) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (c *cut) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (c *cut) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if slices.Contains(notOurs, cmds[0].Name()) || c.seen.Add(1) != c.at {
			return next(ctx, cmds)
		}
		return c.how(func(cmds []redis.Cmder) error { return next(ctx, cmds) }, cmds)
	}
}

// lost is what go-redis does with commands whose answers did not come because the connection broke.
func lost(cmds []redis.Cmder) error {
	for _, cmd := range cmds {
		cmd.SetErr(io.EOF)
	}
	return io.EOF
}

// What could not be read must not look like what is not there: a lock of which nobody was asked is not a free one.
func TestAViewThatBreaksOffInTheMiddleIsAnError(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		names := everyKind(t, func(kind string) string { return srv.Key(t, kind) }, func() redlatch.Client { return srv.Client(t) })
		client := srv.Client(t)
		enter(t, client, "", ours, 0, webAbout, registry.Thing{Kind: "lock", Key: names[redlatch.KindLock], Waiters: 1, WaitingSince: 7})
		views := map[string]func(ctx context.Context, client redlatch.Client) error{
			"list":    func(ctx context.Context, c redlatch.Client) error { _, err := fleet.List(ctx, c); return err },
			"clients": func(ctx context.Context, c redlatch.Client) error { _, err := fleet.Clients(ctx, c); return err },
			"watch":   func(ctx context.Context, c redlatch.Client) error { return fleet.Watch(ctx, c) },
		}
		for kind, name := range names {
			for _, channel := range []string{keys.LockChannel(name), keys.ReadWriteChannel(name), keys.SemaphoreChannel(name)} {
				subscribe(t, srv.Client(t), channel) // a queue is read only where somebody listens
			}
			views["get "+string(kind)] = func(ctx context.Context, c redlatch.Client) error {
				_, err := fleet.Get(ctx, c, kind, name)
				return err
			}
		}
		for what, view := range views {
			whole := &cut{}
			counted := srv.Client(t)
			counted.AddHook(whole)
			require.NoError(t, view(t.Context(), counted), what)
			pipelines := whole.seen.Load()
			require.Positive(t, pipelines, what)
			broken := srv.Client(t)
			hook := &cut{}
			broken.AddHook(hook)
			for at := int64(1); at <= pipelines; at++ {
				ctx, cancel := context.WithCancel(t.Context())
				for how, cut := range map[string]func(send func([]redis.Cmder) error, cmds []redis.Cmder) error{
					"no answer": func(_ func([]redis.Cmder) error, cmds []redis.Cmder) error { return lost(cmds) },
					"half an answer": func(send func([]redis.Cmder) error, cmds []redis.Cmder) error {
						half := len(cmds) / 2
						if half > 0 {
							_ = send(cmds[:half])
						}
						return lost(cmds[half:])
					},
					"the context ends behind it": func(send func([]redis.Cmder) error, cmds []redis.Cmder) error {
						defer cancel()
						return send(cmds)
					},
				} {
					if how == "the context ends behind it" && at == pipelines {
						continue // all was read
					}
					hook.at, hook.how = at, cut
					hook.seen.Store(0)
					var err error
					step := fmt.Sprintf("%s: %s at the pipeline %d of %d", what, how, at, pipelines)
					require.NotPanics(t, func() { err = view(ctx, broken) }, step)
					require.Error(t, err, step)
					cancel()
					ctx, cancel = context.WithCancel(t.Context())
				}
				cancel()
			}
		}
	})
}
