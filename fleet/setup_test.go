package fleet_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/registry"
)

// start gives the examples a server where two processes of a program use a lock, and Redisson another one, and a client of it. Both end
// when stop is called.
func start() (rdb *redis.Client, stop func()) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	ctx, now := context.Background(), time.Now().UnixMilli()
	for i, thing := range []registry.Thing{
		{Kind: "lock", Key: "orders:42", Holds: 1, HeldSince: now - 90_000, Owners: []registry.Owner{{ID: "7", Since: now - 90_000}}},
		{Kind: "lock", Key: "orders:42", Waiters: 3, WaitingSince: now - 60_000},
	} {
		id := []string{ours, other}[i]
		about := registry.About{Version: 1, Host: fmt.Sprintf("web-%d", i+1), PID: 17, Program: "billing"}
		rdb.ZAdd(ctx, registry.Index("", registry.Bucket(id)), redis.Z{Member: id, Score: float64(now + 600_000)})
		rdb.HSet(ctx, registry.Entry("", id), registry.AboutField, about.JSON(), registry.SeenField, now, thing.Field(), thing.Value())
	}
	rdb.HSet(ctx, "orders:42", ours+":7", 1)
	rdb.HSet(ctx, "refunds", java+":42", 1)
	rdb.Expire(ctx, "orders:42", 30*time.Second)
	rdb.Expire(ctx, "refunds", 30*time.Second)
	return rdb, func() { _ = rdb.Close(); server.Close() }
}
