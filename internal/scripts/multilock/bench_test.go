package multilock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

// A bench is a server with one group, and an ear on its channel.
type bench struct {
	*testing.T
	client *redis.Client
	ear    *redis.PubSub
}

func newBench(t *testing.T, srv *redistest.Server) *bench {
	b := &bench{T: t, client: srv.Client(t)}
	b.ear = b.client.Subscribe(context.Background(), channel, "end")
	t.Cleanup(func() { require.NoError(t, b.ear.Close()) })
	for range 2 {
		_, err := b.ear.Receive(context.Background())
		require.NoError(t, err)
	}
	b.flush()
	return b
}

func send[R any](b *bench, cmd scripts.Command[R]) R {
	b.Helper()
	reply, err := statetest.Send(context.Background(), b.client, cmd)
	require.NoError(b, err)
	return reply
}

func (b *bench) fields() map[string]string {
	fields, err := b.client.HGetAll(context.Background(), group).Result()
	require.NoError(b, err)
	return fields
}

// undated is the hash without its deadlines.
func (b *bench) undated() map[string]string {
	fields := b.fields()
	for field := range fields {
		if strings.HasSuffix(field, ":expire_time") {
			delete(fields, field)
		}
	}
	return fields
}

// A holding is what the hash says of one value.
type holding struct {
	owner, holds string
	left         time.Duration
}

func (b *bench) has(want holding, values ...string) {
	b.Helper()
	fields, now := b.fields(), b.now()
	for _, v := range values {
		require.Equal(b, want.owner, fields[v], v)
		require.Equal(b, want.holds, fields[v+":"+want.owner+":lock_count"], v)
		ends, err := scripts.Number(fields[v+":"+want.owner+":expire_time"])
		require.NoError(b, err)
		left := time.UnixMilli(ends).Sub(now)
		require.LessOrEqual(b, left, want.left, v)
		require.Greater(b, left, want.left-20*time.Second, v) // the leases of these tests are further apart than that
	}
}

// lasts requires a TTL of the whole hash, give or take the second by which it outlives its deadlines.
func (b *bench) lasts(want time.Duration) {
	b.Helper()
	ttl := b.client.PTTL(context.Background(), group).Val()
	require.LessOrEqual(b, ttl, want+time.Second)
	require.Greater(b, ttl, want-20*time.Second)
}

func (b *bench) now() time.Time {
	now, err := b.client.Time(context.Background()).Result()
	require.NoError(b, err)
	return now.Truncate(time.Millisecond)
}

func (b *bench) set(fields ...any) {
	require.NoError(b, b.client.HSet(context.Background(), group, fields...).Err())
}

func (b *bench) expire(d time.Duration) {
	require.NoError(b, b.client.PExpire(context.Background(), group, d).Err())
}

func (b *bench) flush() { require.NoError(b, b.client.FlushAll(context.Background()).Err()) }

// heard are the messages since it was last asked.
func (b *bench) heard() (payloads []string) {
	b.Helper()
	require.NoError(b, b.client.Publish(context.Background(), "end", "").Err())
	for {
		m, err := b.ear.ReceiveMessage(context.Background())
		require.NoError(b, err)
		if m.Channel == "end" {
			return payloads
		}
		require.Equal(b, "0", m.Payload)
		payloads = append(payloads, m.Payload)
	}
}
