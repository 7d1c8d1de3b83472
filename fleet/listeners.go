package fleet

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
)

// listeners counts the connections that listen to each channel, on all masters; -1 where a server does not
// say.
func listeners(ctx context.Context, client redlatch.Client, names []string) (map[string]int64, error) {
	counts := make(map[string]int64, len(names)+1)
	if len(names) == 0 {
		return counts, nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names))) // n and {n} have the same channels
	_, cluster := client.(masters)
	err := everywhere(ctx, client, func(ctx context.Context, node sender) error {
		type count struct {
			names          []string
			plain, sharded *redis.MapStringIntCmd
		}
		var all []*count
		for some := range slices.Chunk(names, atOnce) {
			all = append(all, &count{names: some})
		}
		err := ask(ctx, node, all, func(pipe redis.Pipeliner, c *count) {
			c.plain = pipe.PubSubNumSub(ctx, c.names...)
			if cluster {
				c.sharded = pipe.PubSubShardNumSub(ctx, c.names...) // unknown before 7.0
			}
		})
		if err != nil {
			return err
		}
		for _, c := range all {
			for _, name := range c.names {
				switch {
				case c.plain.Err() != nil || counts[name] < 0:
					counts[name] = -1
				default:
					counts[name] += c.plain.Val()[name]
					if c.sharded != nil {
						counts[name] += c.sharded.Val()[name]
					}
				}
			}
		}
		return nil
	})
	return counts, err
}
