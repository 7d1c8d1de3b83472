package suite_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A word that somebody asks stays where it is, and what it points to is no hash: each report finds both.
func TestARequestThatCannotBeReadIsLoggedOnceHoweverManyReportsFindIt(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		viewer := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = viewer.Close() })
		var log page
		hold := acquired(t, rlock.New(client, "lock", redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
		id, _, _ := strings.Cut(hold.Owner(), ":")
		require.NoError(t, viewer.HSet(t.Context(), registry.Asked("", id), hold.Owner(), time.Now().Add(24*time.Hour).UnixMilli()).Err())
		require.NoError(t, viewer.Set(t.Context(), keys.Forced("lock"), "theirs", 0).Err())
		time.Sleep(time.Hour)
		require.Equal(t, 1, strings.Count(log.String(), "who and why cannot be read"), log.String())
		require.Contains(t, log.String(), "WRONGTYPE")
		require.NoError(t, viewer.Del(t.Context(), keys.Forced("lock")).Err())
		time.Sleep(time.Minute)
		require.NoError(t, viewer.Set(t.Context(), keys.Forced("lock"), "theirs", 0).Err())
		time.Sleep(time.Minute)
		require.Equal(t, 2, strings.Count(log.String(), "who and why cannot be read"), log.String())
	})
}

// Whoever may write to the registry can write anything to the key at which a client finds who asks for its holds.
func TestNonsenseWhereAClientFindsWhoAsksIsLoggedOnceAndItsReportsGoOn(t *testing.T) {
	for name, write := range map[string]func(ctx context.Context, c *redis.Client, key string) redis.Cmder{
		"string": func(ctx context.Context, c *redis.Client, key string) redis.Cmder {
			return c.Set(ctx, key, "theirs", 0)
		},
		"list": func(ctx context.Context, c *redis.Client, key string) redis.Cmder { return c.RPush(ctx, key, "theirs") },
		"field": func(ctx context.Context, c *redis.Client, key string) redis.Cmder {
			return c.HSet(ctx, key, "u:1", "theirs")
		},
		"fields": func(ctx context.Context, c *redis.Client, key string) redis.Cmder {
			var all []any
			for i := range 200 {
				all = append(all, fmt.Sprint("u:", i), "9999999999999")
			}
			return c.HSet(ctx, key, all...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
				reader := redis.NewClient(redistest.InMemoryOptions(m))
				t.Cleanup(func() { _ = reader.Close() })
				var log page
				hold := acquired(t, rlock.New(client, "lock", redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), briefly.Linger(time.Second)))
				id, _, _ := strings.Cut(hold.Owner(), ":")
				key := registry.Asked("", id)
				require.NoError(t, write(t.Context(), reader, key).Err())
				there := func() string {
					_, dump, _ := strings.Cut(m.Dump(), "- "+key+"\n")
					dump, _, _ = strings.Cut(dump, "\n-")
					return strings.TrimSpace(dump)
				}
				before := there()
				require.NotEmpty(t, before)
				time.Sleep(2 * time.Second)
				acquired(t, rlock.New(client, "lock2"))
				time.Sleep(time.Hour)
				seen, err := strconv.ParseInt(only(t, reader, "").seen, 10, 64)
				require.NoError(t, err)
				require.Less(t, time.Since(time.UnixMilli(seen)), 6*time.Second)
				require.Equal(t, []string{"lock lock 1 0", "lock lock2 1 0"}, only(t, reader, "").kinds())
				require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
				require.Contains(t, log.String(), "has something that makes no sense")
				require.Contains(t, log.String(), key)
				require.True(t, before == there(), "it is left as it is")
			})
		})
	}
}
