package demo

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// sweepTime bounds the search for keys: a server of somebody else may have very many. What is not found expires.
const sweepTime = 10 * time.Second

// sweep removes all keys of the run and answers how many there were and how many there still are. All workers have
// ended. The keys that the library made beside ours are found by the tag, which all contain.
func (n names) sweep(ctx context.Context, client *redis.Client, workers int) (removed, left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	gone, err := client.Del(ctx, n.known(workers)...).Result()
	if err != nil {
		return 0, 0, err
	}
	removed = int(gone)
	others, err := n.find(ctx, client)
	if err != nil {
		return removed, 0, err
	}
	if len(others) > 0 {
		gone, err := client.Del(ctx, others...).Result()
		if err != nil {
			return removed, len(others), err
		}
		removed += int(gone)
	}
	rest, err := n.find(ctx, client)
	return removed, len(rest), err
}

func (n names) find(ctx context.Context, client *redis.Client) ([]string, error) {
	var found []string
	scan := client.Scan(ctx, 0, "*"+n.tag+"*", 1000).Iterator()
	for scan.Next(ctx) {
		found = append(found, scan.Val())
	}
	return found, scan.Err()
}
