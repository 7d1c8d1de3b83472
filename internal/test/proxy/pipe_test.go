package proxy_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlatch/redlatch/internal/test/proxy"
)

// inBubble runs fn on fake time, with a proxy before a miniredis and clients that all have no socket.
func inBubble(t *testing.T, fn func(t *testing.T, p *proxy.Proxy, client func() *redis.Client)) {
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		t.Cleanup(server.Close)
		first, err := server.Dial() // starts it
		ok(t, err)
		ok(t, first.Close())
		p := proxy.New(func() (net.Conn, error) {
			near, far := net.Pipe()
			server.Server().ServeConn(far)
			return near, nil
		})
		t.Cleanup(func() { ok(t, p.Close()) })
		fn(t, p, func() *redis.Client {
			client := redis.NewClient(&redis.Options{
				Dialer:   func(context.Context, string, string) (net.Conn, error) { return p.Dial() },
				PoolSize: 100, MaxRetries: -1, DialerRetries: 1,
				MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			})
			t.Cleanup(func() { _ = client.Close() })
			return client
		})
	})
}

func TestAProxyWithoutAPortWorksOnFakeTime(t *testing.T) {
	inBubble(t, func(t *testing.T, p *proxy.Proxy, client func() *redis.Client) {
		start, a, b := time.Now(), client(), client()
		listening := a.Subscribe(t.Context(), "news")
		defer listening.Close()
		_, err := listening.Receive(t.Context())
		ok(t, err)
		for range 100 {
			ok(t, b.Incr(t.Context(), "n").Err())
		}
		cmds, err := b.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for i := range 300 {
				pipe.Set(t.Context(), fmt.Sprint(i), strings.Repeat("x", 1000), 0)
				pipe.Publish(t.Context(), "news", strings.Repeat("y", 1000))
			}
			return nil
		})
		ok(t, err)
		equal(t, 600, len(cmds))
		message, err := listening.ReceiveMessage(t.Context())
		ok(t, err)
		equal(t, 1000, len(message.Payload))
		equal(t, 0, time.Since(start))
		equal(t, "", p.Addr())
		ok(t, p.Refuse(true))
		p.CutAll()
		if err := b.Incr(t.Context(), "n").Err(); err == nil {
			t.Fatal("a server that is down has answered")
		}
		ok(t, p.Refuse(false))
		equal(t, int64(101), b.Incr(t.Context(), "n").Val())
	})
}

func TestAClientThatGoesLeavesItsRequestBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, p *proxy.Proxy, client func() *redis.Client) {
		p.On(proxy.Named("INCR"), 1, proxy.Delay(time.Hour))
		gone := client()
		isTimeout(t, gone.Incr(t.Context(), "n").Err())
		ok(t, gone.Close())
		time.Sleep(2 * time.Hour)
		equal(t, "1", client().Get(t.Context(), "n").Val())
	})
}

func TestAFrozenServerAnswersLater(t *testing.T) {
	inBubble(t, func(t *testing.T, p *proxy.Proxy, client func() *redis.Client) {
		a, b := client(), client()
		ok(t, a.Incr(t.Context(), "n").Err())
		p.Freeze(true)
		start := time.Now()
		isTimeout(t, a.Incr(t.Context(), "n").Err())
		isTimeout(t, b.Ping(t.Context()).Err()) // a new connection
		equal(t, false, time.Since(start) == 0)
		p.Freeze(false)
		synctest.Wait()
		equal(t, "2", b.Get(t.Context(), "n").Val())
	})
}
