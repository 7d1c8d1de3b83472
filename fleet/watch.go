package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/registry"
)

// WatchLasts is for how long one call of [Watch] counts.
const WatchLasts = 10 * time.Second

// Watch has all clients report every second, for as long as [WatchLasts], so that what [List] and [Clients]
// say of waits and times is no older. A viewer that is to see more calls it again before that is over;
// several viewers share it. A client finds out with its next report, so after an interval of its own (5.5 s
// as a rule). Clients that hold and wait for nothing send nothing. All together send a thousand reports a
// second at most, so where there are more than a thousand clients each reports less often, and from 5000 on
// as if no viewer looked.
//
// The user needs the right to write to the keys redlatch_client_watched:*. Without it all is as before, and
// the error says so.
func Watch(ctx context.Context, client redlatch.Client, opts ...Option) error {
	o := optionsOf(opts)
	buckets, set := make([]int, registry.Buckets), make([]*redis.StatusCmd, registry.Buckets)
	for bucket := range buckets {
		buckets[bucket] = bucket
	}
	err := ask(ctx, client, buckets, func(pipe redis.Pipeliner, bucket int) {
		// With Get a key of another type is refused, where it would otherwise be overwritten.
		set[bucket] = pipe.SetArgs(ctx, registry.Watched(o.prefix, bucket), "", redis.SetArgs{TTL: WatchLasts, Get: true})
	})
	if err != nil {
		return err
	}
	for bucket, cmd := range set {
		if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("redlatch: clients cannot be told by %q that somebody looks: %w",
				registry.Watched(o.prefix, bucket), err)
		}
	}
	return nil
}
