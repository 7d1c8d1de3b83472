package multilock_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// Else the call would wait for its own hold until its context ends.
func TestOneLockByTwoClientsOfOneServerIsRefusedWithASentence(t *testing.T) {
	srv := redistest.Mini(t)
	one, two := srv.Client(t), srv.Client(t)
	wrapped := struct{ redis.UniversalClient }{two}
	ctx := cancellable(t)
	mapped := redlatch.WithNameMapper(func(name string) string { return "app:" + name })
	for what, members := range map[string][]redlatch.Locker{
		"an rlock":               {rlock.New(one, "a", quiet...), rlock.New(two, "a", quiet...)},
		"by a wrapper":           {rlock.New(one, "a", quiet...), rlock.New(wrapped, "a", quiet...)},
		"of another kind":        {rlock.New(one, "a", quiet...), spinlock.New(two, "a", quiet...)},
		"a fair lock, by a name": {fairlock.New(one, "app:a", quiet...), fairlock.New(two, "a", with(mapped)...)},
		"both sides":             {rwlock.New(one, "a", quiet...).Reader(), rwlock.New(two, "a", quiet...).Writer()},
		"groups":                 {multilock.NewGroup(one, "a", []string{"x", "y"}, quiet...), multilock.NewGroup(two, "a", []string{"y", "z"}, quiet...)},
		"within another":         {rlock.New(one, "a", quiet...), multilock.New([]redlatch.Locker{rlock.New(two, "a", quiet...)})},
	} {
		t.Run(what, func(t *testing.T) {
			lock := multilock.New(members)
			for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
				_, err := ask(ctx)
				require.ErrorIs(t, err, redlatch.ErrInvalid)
				require.ErrorContains(t, err, "are one lock, by two clients of one server")
			}
			require.Empty(t, srv.Keys(t))
		})
	}
}

func TestLocksThatDoNotShutEachOtherOutMayHaveTwoClients(t *testing.T) {
	srv, other := redistest.Mini(t), redistest.Mini(t)
	one, two, far := srv.Client(t), srv.Client(t), other.Client(t)
	third := srv.Client(t, func(o *redis.Options) { o.DB = 3 })
	ctx := cancellable(t)
	for what, members := range map[string][]redlatch.Locker{
		"other names":    {rlock.New(one, "a", quiet...), rlock.New(two, "b", quiet...)},
		"other servers":  {rlock.New(one, "a", quiet...), rlock.New(far, "a", quiet...)},
		"other database": {rlock.New(one, "a", quiet...), rlock.New(third, "a", quiet...)},
		"readers":        {rwlock.New(one, "a", quiet...).Reader(), rwlock.New(two, "a", quiet...).Reader()},
		"other values":   {multilock.NewGroup(one, "a", []string{"x"}, quiet...), multilock.NewGroup(two, "a", []string{"y"}, quiet...)},
		"one client":     {rlock.New(one, "a", quiet...), rlock.New(one, "a", quiet...)},
	} {
		t.Run(what, func(t *testing.T) {
			require.NoError(t, take(t, multilock.New(members), ctx).Unlock(ctx))
		})
	}
}
