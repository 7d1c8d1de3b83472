package proxy_test

import (
	"errors"
	"io"
	"net"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A rig is a server, a proxy before it, and a client that goes through the proxy and sends every command once.
type rig struct {
	srv    *redistest.Server
	proxy  *faultproxy.Proxy
	client *redis.Client
	direct *redis.Client // past the proxy
}

// each runs fn on both servers and with both protocols.
func each(t *testing.T, fn func(t *testing.T, r rig)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
			t.Run(name, func(t *testing.T) {
				srv.Flush(t)
				p := faultproxy.New(t, srv.Addr)
				client := srv.Client(t, func(o *redis.Options) {
					o.Addr, o.Protocol, o.MaxRetries, o.ReadTimeout = p.Addr(), protocol, -1, 30*time.Second
					o.PoolSize = 100 // else it depends on the processors
				})
				fn(t, rig{srv, p, client, srv.Client(t)})
			})
		}
	})
}

// impatient is a client like the rig's that waits only briefly for a reply, but long enough for one that comes.
func (r rig) impatient(t *testing.T) *redis.Client {
	return r.srv.Client(t, func(o *redis.Options) {
		o.Addr, o.Protocol, o.MaxRetries, o.ReadTimeout = r.proxy.Addr(), r.client.Options().Protocol, -1, 1500*time.Millisecond
	})
}

func (r rig) value(t *testing.T, key string) string {
	t.Helper()
	v, err := r.direct.Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return v
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func isTimeout(t *testing.T, err error) {
	t.Helper()
	var network net.Error
	if !errors.As(err, &network) || !network.Timeout() {
		t.Fatalf("got %v, want a timeout", err)
	}
}

func isEOF(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want EOF", err)
	}
}

func isReset(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("got %v, want a reset", err)
	}
}

var eventually = redistest.Eventually
