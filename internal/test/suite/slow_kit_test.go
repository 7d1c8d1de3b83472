package suite_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// A slowness keeps the events of what lasts for long.
type slowness struct {
	mu   sync.Mutex
	seen []redlatch.Event
	then func() // called with each, unless it is nil
}

func (s *slowness) option() redlatch.Option {
	return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventSlowWait || e.Kind == redlatch.EventLongHold {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.seen = append(s.seen, e)
			if s.then != nil {
				s.then()
			}
		}
	}))
}

// all are the events so far.
func (s *slowness) all() []redlatch.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// one is the only event.
func (s *slowness) one(t *testing.T) redlatch.Event {
	t.Helper()
	all := s.all()
	require.Len(t, all, 1)
	return all[0]
}

// locks are one of each kind, all of which are in the way of the same kind of another client.
func locks(client redlatch.Client, opts ...redlatch.Option) map[string]redlatch.Locker {
	return map[string]redlatch.Locker{
		"lock":        rlock.New(client, "plain", opts...),
		"fair_lock":   fairlock.New(client, "fair", opts...),
		"spin_lock":   spinlock.New(client, "spin", opts...),
		"fenced_lock": fencedlock.New(client, "fenced", opts...),
		"write_lock":  rwlock.New(client, "rw", opts...).Writer(),
		"group_lock":  multilock.NewGroup(client, "group", []string{"a", "b"}, opts...),
		"multi_lock":  multilock.New([]redlatch.Locker{rlock.New(client, "m1"), rlock.New(client, "m2")}, opts...),
		"redlock":     redlock.New([]redlatch.Client{client}, "red", opts...),
	}
}

// A questions is a hook that counts what slow waits ask: how an rlock stands, and the registry.
type questions struct {
	redis.Hook
	lock, registry atomic.Int64
}

func (q *questions) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if args := cmd.Args(); args[0] == "evalsha" {
			switch {
			case strings.HasPrefix(fmt.Sprint(args[3]), "redlatch_client:"): // reports begin with the index
				q.registry.Add(1)
			case len(args) == 4: // Inspect, which has no arguments but the key
				q.lock.Add(1)
			}
		}
	}
}

func (q *questions) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		q.count(cmd)
		return next(ctx, cmd)
	}
}

func (q *questions) DialHook(next redis.DialHook) redis.DialHook { return next }
func (q *questions) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		q.count(cmds...)
		return next(ctx, cmds)
	}
}
