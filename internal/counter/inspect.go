package counter

import (
	"context"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// Inspect reads what can be seen of any counter.
func (c *Counter) Inspect(ctx context.Context) (redlatch.Info, error) {
	look, err := Ask(ctx, c, lane.Inspect)
	if err != nil {
		return redlatch.Info{}, err
	}
	info := c.Info()
	info.Exists, info.Value, info.TTL = look.Exists, look.Value, look.TTL
	return info, nil
}

// Info is what is known without asking Redis.
func (c *Counter) Info() redlatch.Info {
	return redlatch.Info{Name: c.Name, Key: c.Key, Kind: c.noun, Waiters: int64(c.Session.Cohorts.WaitersFor(c.Key, c.noun))}
}
