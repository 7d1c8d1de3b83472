package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Clients with uuids as this library and Redisson draw them.
const (
	ours  = "11111111-1111-8111-8111-111111111111"
	other = "22222222-2222-8222-8222-222222222222"
	java  = "33333333-3333-4333-8333-333333333333"
)

var webAbout = registry.About{Version: 1, Host: "web-3", PID: 17, Program: "billing", Label: "blue", Language: "go", Library: "redlatch v1.0.0", Timeout: 30000}

// now is the server's time in milliseconds.
func now(t testing.TB, client redis.UniversalClient) int64 {
	t.Helper()
	at, err := client.Time(t.Context()).Result()
	require.NoError(t, err)
	return at.UnixMilli()
}

// enter writes the entry of a client by the format, as it was ago.
func enter(t testing.TB, client redis.UniversalClient, prefix, id string, ago time.Duration, about registry.About, things ...registry.Thing) {
	t.Helper()
	seen := now(t, client) - ago.Milliseconds()
	fields := []any{registry.AboutField, about.JSON(), registry.SeenField, seen}
	for _, thing := range things {
		fields = append(fields, thing.Field(), thing.Value())
	}
	_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		p.ZAdd(t.Context(), registry.Index(prefix, registry.Bucket(id)), redis.Z{Member: id, Score: float64(seen + time.Hour.Milliseconds())})
		p.HSet(t.Context(), registry.Entry(prefix, id), fields...)
		p.PExpire(t.Context(), registry.Entry(prefix, id), time.Hour)
		return nil
	})
	require.NoError(t, err)
}

// unlockAll gives back what a test holds.
type unlocker interface {
	Unlock(ctx context.Context) error
}

func unlockLater(t testing.TB, holds ...unlocker) {
	t.Cleanup(func() {
		for _, h := range holds {
			_ = h.Unlock(context.Background())
		}
	})
}

// identity is the uuid of the client of which an identity is, and the number behind it.
func identity(t testing.TB, owner string) (id, number string) {
	t.Helper()
	id, number, ok := strings.Cut(owner, ":")
	require.True(t, ok, owner)
	return id, number
}

// get is fleet.Get, which has to succeed.
func get(t testing.TB, client redis.UniversalClient, kind redlatch.Kind, name string, opts ...fleet.Option) *fleet.Object {
	t.Helper()
	o, err := fleet.Get(t.Context(), client, kind, name, opts...)
	require.NoError(t, err)
	require.Equal(t, name, o.Key)
	return o
}

// holders are who holds an object, each as "who side holds".
func holders(o *fleet.Object) (all []string) {
	for _, h := range o.Holders {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %d", h.Who(), h.Side, h.Holds)))
	}
	return all
}

// populate makes n keys of another program. Then it looks at each of them: the server's table of keys grows by a step with each look, and
// has grown before anything is measured.
func populate(t testing.TB, client *redis.Client, n int) {
	t.Helper()
	const step = 20_000 // a script of more keeps a busy server for longer than the client waits
	for _, script := range []string{
		"for i = ARGV[1], ARGV[2] do redis.call('set', string.format('foreign:%d', i), 'x') end return 1",
		"for i = ARGV[1], ARGV[2] do redis.call('exists', string.format('foreign:%d', i)) end return 1",
	} {
		for from := 0; from < n; from += step {
			require.NoError(t, client.Eval(t.Context(), script, nil, from+1, min(from+step, n)).Err())
		}
	}
}
