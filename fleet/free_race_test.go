package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A before is a hook that does something once, before the first script for a key.
type before struct {
	redis.Hook
	key string
	do  func()
	sync.Once
}

func (b *before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 3 && fmt.Sprint(args[3]) == b.key {
			b.Do(b.do)
		}
		return next(ctx, cmd)
	}
}

func (b *before) DialHook(next redis.DialHook) redis.DialHook { return next }
func (b *before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Free looks first, then leaves a notice, and takes the lock by a third command.
func TestAnOwnerThatGotTheLockSinceFreeLookedKeepsIt(t *testing.T) {
	srv := redistest.Process(t)
	for kind, lock := range makers {
		t.Run(string(kind), func(t *testing.T) {
			asking, name := srv.Client(t), srv.Key(t, "name")
			hold, err := lock(srv.Client(t), name).Lock(t.Context())
			require.NoError(t, err)
			var next *redlatch.Hold
			asking.AddHook(&before{key: keys.Forced(name), do: func() {
				require.NoError(t, hold.Unlock(t.Context()))
				next, err = lock(srv.Client(t), name).Lock(t.Context())
				require.NoError(t, err)
			}})
			freed, err := freeFrom(t, asking, kind, name, hold.Owner(), stuck)
			require.NoError(t, err)
			require.False(t, freed)
			require.Zero(t, asking.Exists(t.Context(), keys.Forced(name)).Val(), "nothing was taken by force")
			require.NoError(t, next.Unlock(t.Context()))
		})
	}
}
