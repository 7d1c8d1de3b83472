package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A channel made in a bubble must not turn up in another one, nor outside: the runtime ends the process for it. That
// would hit every program that tests its own code with fake time.
func TestDispatchersShareNoChannels(t *testing.T) {
	use := func(t *testing.T) {
		_, client := redistest.InMemory(t)
		d := dispatch.New(client, nil, func() time.Duration { return 0 })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 10 {
			if err := d.Do(ctx, "k", redis.NewStatusCmd(ctx, "ping"), dispatch.ToMaster); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 5 { // under the race detector a sync.Pool drops some of what it is given
		redistest.Bubble(t, use)
		use(t)
	}
}
