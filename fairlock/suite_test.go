package fairlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/locktest"
)

func forceUnlock(ctx context.Context, lock redlatch.Locker) (bool, error) {
	return lock.(*fairlock.Lock).ForceUnlock(ctx)
}

// A user is a client and the case of the suite in which it uses a name. On fake time all cases use the same name.
type user struct {
	tb     testing.TB
	client *redis.Client
}

// exercise runs the suite. A client that is closed under its waiters cannot take them out of the queue, as a process
// that dies cannot: of a lock that had such a client, and of no other, the queue may stay.
func exercise(t *testing.T, features locktest.Features, lock func(redlatch.Client, string, ...redlatch.Option) redlatch.Locker) {
	var (
		mu    sync.Mutex
		users = map[string][]user{} // by each key that may stay
	)
	features.Exclusive, features.Watchdog, features.Messages, features.Ordered, features.Owned = true, true, true, true, true
	features.ForceUnlock = forceUnlock
	features.Stays = func(key string) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, user := range users[key] {
			if errors.Is(user.client.Ping(context.Background()).Err(), redis.ErrClosed) {
				return true
			}
		}
		return false
	}
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		mu.Lock()
		defer mu.Unlock()
		for _, key := range []string{keys.FairQueue(name), keys.FairTimeouts(name), keys.FairAlive(name)} {
			if known := users[key]; len(known) > 0 && known[0].tb != tb {
				users[key] = nil
			}
			if client, ok := client.(*redis.Client); ok {
				users[key] = append(users[key], user{tb, client})
			}
		}
		return lock(client, name, opts...)
	}, features)
}

func TestReentrantLock(t *testing.T) {
	exercise(t, locktest.Features{Reentrant: true}, func(client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return fairlock.New(client, name, opts...)
	})
}

func TestNonReentrantLock(t *testing.T) {
	exercise(t, locktest.Features{}, func(client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return fairlock.NewNonReentrant(client, name, opts...)
	})
}
