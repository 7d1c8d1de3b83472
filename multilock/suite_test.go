package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
)

// The suite wants a lock with the name it gives, so both members have it; the second has a key of its own.
func TestMultiLock(t *testing.T) {
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		set := rootapi.Apply(settings.Defaults(), opts)
		mapped := set.Map
		if mapped == nil {
			mapped = func(name string) string { return name }
		}
		first := redlatch.WithNameMapper(mapped)
		second := redlatch.WithNameMapper(func(name string) string { return mapped(name) + ".second" })
		linger := rootapi.Option[redlatch.Option](func(s *settings.Settings) { s.Linger, s.LingerSet = set.Linger, set.LingerSet })
		rest := rootapi.Option[redlatch.Option](func(s *settings.Settings) { s.Withhold(settings.NameMapper) }) // which the members have
		return multilock.New([]redlatch.Locker{rlock.New(client, name, linger, first), rlock.New(client, name, linger, second)}, append(opts, rest)...)
	}, locktest.Features{
		Reentrant: true, Exclusive: true, Watchdog: true, Messages: true, Ordered: true,
		Keys: func(name string) []string { return []string{name, name + ".second"} },
	})
}

func TestGroup(t *testing.T) {
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return multilock.NewGroup(client, name, []string{"Jack_001", "Mary_002", "Jack_001"}, opts...)
	}, locktest.Features{
		Reentrant: true, Exclusive: true, Watchdog: true, Messages: true, Ordered: true, Owned: true, Beyond: time.Second,
		ForceUnlock: func(ctx context.Context, lock redlatch.Locker) (bool, error) {
			return lock.(*multilock.Group).ForceUnlock(ctx)
		},
	})
}
