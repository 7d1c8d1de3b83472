package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

// Clients with uuids as this library and Redisson draw them.
const (
	living = "11111111-1111-8111-8111-111111111111"
	dead   = "22222222-2222-8222-8222-222222222222"
	java   = "33333333-3333-4333-8333-333333333333"
)

// moment is the server's time, so long ago, in milliseconds.
func moment(t testing.TB, client redis.UniversalClient, ago time.Duration) int64 {
	t.Helper()
	now, err := client.Time(t.Context()).Result()
	require.NoError(t, err)
	return now.Add(-ago).UnixMilli()
}

// enter writes the entry of a client as docs/internals/protocol.md has it.
func enter(t testing.TB, client redis.UniversalClient, id string, ago time.Duration, about registry.About, things ...registry.Thing) {
	t.Helper()
	ctx, seen := t.Context(), moment(t, client, ago)
	about.Version = registry.Version
	fields := []any{registry.AboutField, about.JSON(), registry.SeenField, seen}
	for _, thing := range things {
		fields = append(fields, thing.Field(), thing.Value())
	}
	require.NoError(t, client.ZAdd(ctx, registry.Index("", registry.Bucket(id)), redis.Z{Member: id, Score: float64(seen)}).Err())
	require.NoError(t, client.HSet(ctx, registry.Entry("", id), fields...).Err())
}

// holdAs makes a key such as a holder of Redisson leaves there.
func holdAs(t testing.TB, client redis.UniversalClient, name string, lease time.Duration, fields ...any) {
	t.Helper()
	require.NoError(t, client.HSet(t.Context(), name, fields...).Err())
	require.NoError(t, client.PExpire(t.Context(), name, lease).Err())
}

// scene has something of everything: a lock that this library holds and for which others wait, one of a process that has died, readers
// of this library and of Redisson, counters, and a name that a terminal would obey. It answers the identity of the holder.
func scene(t testing.TB, client redis.UniversalClient) (owner string) {
	t.Setenv("REDLATCH_REGISTRY", "off") // the entries are written here
	ctx := t.Context()
	hold, err := rlock.New(client, "orders:42").Lock(ctx, redlatch.WithLease(time.Hour))
	require.NoError(t, err)
	t.Cleanup(func() { _ = hold.Unlock(context.Background()) })
	id, number, _ := strings.Cut(hold.Owner(), ":")
	long, wait := moment(t, client, 12*time.Minute+20*time.Second), moment(t, client, 34*time.Second)

	holdAs(t, client, "invoices", 17900*time.Millisecond, dead+":7", 1)
	holdAs(t, client, "prices", time.Hour, "mode", "read", living+":9", 1, java+":42", 2)
	require.NoError(t, client.HSet(ctx, "evil\x1b[2J\u202e", java+":42", 1).Err()) // without a lease
	s, err := semaphore.New(client, "mail").TrySetPermits(ctx, 3)
	require.NoError(t, err)
	require.True(t, s)
	require.NoError(t, semaphore.New(client, "mail").Acquire(ctx, 2))
	permits := permitsemaphore.New(client, "licences")
	_, err = permits.TrySetPermits(ctx, 5)
	require.NoError(t, err)
	permit, err := permits.Acquire(ctx, 1, redlatch.WithLease(time.Hour))
	require.NoError(t, err)
	t.Cleanup(func() { _ = permit.Release(context.Background()) })
	_, err = countdownlatch.New(client, "import").TrySetCount(ctx, 3)
	require.NoError(t, err)

	enter(t, client, id, time.Second, registry.About{Host: "web-3", PID: 17, Program: "billing", Label: "blue", Language: "go", Hears: true},
		registry.Thing{Kind: "lock", Key: "orders:42", Holds: 1, HeldSince: long, Owners: []registry.Owner{{ID: number, Since: long}}},
		registry.Thing{Kind: "lock", Key: "customers:9", Holds: 1, HeldSince: long, Owners: []registry.Owner{{ID: number, Since: long}}},
		registry.Thing{Kind: "permit_semaphore", Key: "licences", Holds: 1, HeldSince: long, Owners: []registry.Owner{{ID: permit.IDs()[0], Since: long}}})
	enter(t, client, living, time.Second, registry.About{Host: "web-4", PID: 21, Program: "billing", Label: "blue", Language: "go", Hears: true},
		registry.Thing{Kind: "lock", Key: "orders:42", Waiters: 3, WaitingSince: wait, Waits: 7, Waited: 3000},
		registry.Thing{Kind: "read_lock", Key: "prices", Holds: 1, HeldSince: long, Owners: []registry.Owner{{ID: "9", Since: long}}},
		registry.Thing{Kind: "latch", Key: "import", Waiters: 1, WaitingSince: long},
		registry.Thing{Kind: "semaphore", Key: "mail", Waiters: 1, WaitingSince: wait})
	enter(t, client, dead, 23*time.Second, registry.About{Host: "batch-1", PID: 1, Program: "invoicer", Language: "go", Hears: true},
		registry.Thing{Kind: "lock", Key: "invoices", Holds: 1, HeldSince: long, Owners: []registry.Owner{{ID: "7", Since: long}}})

	// The id of the holder's client is random. Where it falls into the bucket of another client, the index has one key less. Another
	// key takes its place then, so that the number of keys is the same in every run.
	if bucket := registry.Bucket(id); bucket == registry.Bucket(living) || bucket == registry.Bucket(dead) {
		require.NoError(t, client.Set(ctx, "foreign", "", 0).Err())
	}
	return hold.Owner()
}

var (
	stamps    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z`)
	durations = regexp.MustCompile(`(_seconds": )\d+\.\d+`)
	ports     = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	someAges  = regexp.MustCompile(`\b\d\d s\b`)
	recent    = regexp.MustCompile(`last seen \d\.\d s ago`)
	permitIDs = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
)

// normal puts in the place of what differs from run to run what documentation may show. The ages of the scene are far apart: what a
// slow machine makes of them is told by their ranges.
func normal(owner, text string) string {
	id, _, _ := strings.Cut(owner, ":")
	text = strings.ReplaceAll(text, owner, "6f1c0e52-9a3b-8d47-b1e0-5a2f7c9d3e81:7")
	text = strings.ReplaceAll(text, id, "6f1c0e52-9a3b-8d47-b1e0-5a2f7c9d3e81")
	text = durations.ReplaceAllString(text, "${1}1.000")
	text = ports.ReplaceAllString(text, "127.0.0.1:6379")
	text = recent.ReplaceAllString(text, "last seen 1.0 s ago")
	text = permitIDs.ReplaceAllString(text, strings.Repeat("5a", 16))
	text = stamps.ReplaceAllStringFunc(text, func(at string) string {
		if len(at) == len("2026-11-25T03:04:05Z") {
			return "2026-11-25T03:04:05Z"
		}
		return "2026-11-25T03:04:05.000Z"
	})
	return someAges.ReplaceAllStringFunc(text, func(age string) string {
		n, _ := strconv.Atoi(age[:2])
		for _, scene := range []struct{ from, to, is int }{{10, 17, 17}, {23, 32, 23}, {34, 50, 34}} {
			if scene.from <= n && n <= scene.to {
				return fmt.Sprintf("%d s", scene.is)
			}
		}
		return age
	})
}
