package fleet

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
)

// clocks are the times of the servers, of one moment.
type clocks struct {
	cluster masters // nil where there is one server
	times   map[sender]time.Time
	first   time.Time // of a server that has been asked
}

func readClocks(ctx context.Context, client redlatch.Client) (clocks, error) {
	c := clocks{times: map[sender]time.Time{}}
	c.cluster, _ = client.(masters)
	err := everywhere(ctx, client, func(ctx context.Context, node sender) error {
		pipe := node.Pipeline()
		asked := pipe.Time(ctx)
		if err := exec(ctx, pipe); err != nil {
			return err
		}
		now := asked.Val()
		if asked.Err() != nil { // the user may not ask
			now = time.Now()
		}
		c.times[node], c.first = now, now
		return nil
	})
	return c, err
}

// at is the time of the server that has a key. A master that has just come was not asked; another one's time
// is about the same.
func (c clocks) at(ctx context.Context, key string) time.Time {
	if c.cluster == nil {
		return c.first
	}
	master, err := c.cluster.MasterForKey(ctx, key)
	if now, asked := c.times[sender(master)]; asked && err == nil {
		return now
	}
	return c.first
}

var _ sender = (*redis.Client)(nil)
