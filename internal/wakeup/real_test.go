package wakeup_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/wakeup"
)

var eventually = redistest.Eventually

func awaitConfirmed(t *testing.T, w *waiter) {
	t.Helper()
	eventually(t, "the subscription is confirmed", w.confirmed)
}

// awaitHearing publishes until w is woken: it hears again.
func awaitHearing(t *testing.T, w *waiter, publish func() error) {
	t.Helper()
	eventually(t, "a message wakes", func() bool {
		before := w.wakes.Load()
		if err := publish(); err != nil {
			return false
		}
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if w.wakes.Load() > before {
				return true
			}
		}
		return false
	})
}

func subscribers(t *testing.T, client *redis.Client, channel string) int64 {
	t.Helper()
	counts, err := client.PubSubNumSub(t.Context(), channel).Result()
	if err != nil {
		return -1 // the server is away
	}
	return counts[channel]
}

func TestMessagesWakeAndNothingStaysBehind(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		hub := wakeup.New(wakeup.Config{Client: client})
		channels := make([]string, 300)
		waiters := make([]*waiter, len(channels))
		for i := range channels {
			channels[i] = srv.Key(t, "channel")
			waiters[i] = listen(hub, channels[i])
		}
		for i, w := range waiters {
			awaitConfirmed(t, w)
			if err := client.Publish(t.Context(), channels[i], "0").Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range waiters {
			eventually(t, "the message wakes", func() bool { return w.wakes.Load() == 1 })
			w.Close()
		}
		for _, channel := range channels {
			eventually(t, "nobody is subscribed", func() bool { return subscribers(t, client, channel) == 0 })
		}
	})
}

func TestAKilledConnectionIsRebuiltAndTold(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	hub := wakeup.New(wakeup.Config{Client: client})
	w := listen(hub, "channel")
	defer w.Close()
	awaitConfirmed(t, w)
	for round := range int64(3) {
		eventually(t, "subscribed", func() bool { return subscribers(t, client, "channel") == 1 })
		if err := client.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the loss and the end of the gap are told", func() bool { return w.wakes.Load() >= 2*(round+1) })
	}
	awaitHearing(t, w, func() error { return client.Publish(t.Context(), "channel", "0").Err() })
}

func TestARestartedServerIsSubscribedAgain(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	hub := wakeup.New(wakeup.Config{Client: client})
	w := listen(hub, "channel")
	defer w.Close()
	awaitConfirmed(t, w)
	srv.Kill()
	eventually(t, "the loss is told", func() bool { return w.wakes.Load() >= 1 })
	added := listen(hub, "added")
	defer added.Close()
	srv.Restart()
	eventually(t, "the end of the gap is told", func() bool { return w.wakes.Load() >= 2 })
	awaitConfirmed(t, added)
	awaitHearing(t, w, func() error { return client.Publish(t.Context(), "channel", "0").Err() })
}

func TestAStoppedServerIsNoticedAndHeardAgain(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	hub := wakeup.New(wakeup.Config{Client: client, Idle: 100 * time.Millisecond, Pong: 200 * time.Millisecond})
	w := listen(hub, "channel")
	awaitConfirmed(t, w)
	srv.Stop()
	eventually(t, "the silence is told", func() bool { return w.wakes.Load() >= 1 })
	srv.Continue()
	awaitHearing(t, w, func() error { return client.Publish(t.Context(), "channel", "0").Err() })
	w.Close()
	eventually(t, "nobody is subscribed, nor any connection given up meanwhile", func() bool {
		return subscribers(t, client, "channel") == 0
	})
}

func TestAChannelForbiddenByACLLeavesTheOthersAlone(t *testing.T) {
	srv := redistest.Process(t)
	admin := srv.Client(t)
	if err := admin.Do(t.Context(), "acl", "setuser", "guest", "on", "nopass", "+@all", "resetchannels", "&good*").Err(); err != nil {
		t.Fatal(err)
	}
	guest := srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "guest", "any" })
	hub := wakeup.New(wakeup.Config{Client: guest})
	bad := listen(hub, "bad")
	defer bad.Close()
	var good []*waiter
	for i := range 50 {
		good = append(good, listen(hub, fmt.Sprint("good", i)))
	}
	for _, w := range good {
		awaitConfirmed(t, w)
		defer w.Close()
	}
	if bad.confirmed() {
		t.Fatal("the forbidden channel is confirmed")
	}
	for _, w := range good {
		if n := w.wakes.Load(); n != 0 {
			t.Fatalf("%d wakes", n)
		}
	}
}

// On a graceful failover the demoted node still answers pings: only whoever sees READONLY knows.
func TestSuspicionLeavesADemotedSentinelMaster(t *testing.T) {
	sentinel := redistest.Sentinel(t)
	client := sentinel.Client(t)
	hub := wakeup.New(wakeup.Config{Client: client})
	w := listen(hub, "channel")
	defer w.Close()
	awaitConfirmed(t, w)
	address := func() string { return client.Do(context.Background(), "config", "get", "port").String() }
	before := address()
	control := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addrs()[0]})
	defer control.Close()
	eventually(t, "sentinel accepts the failover", func() bool {
		return control.Failover(t.Context(), sentinel.MasterName).Err() == nil
	})
	eventually(t, "commands reach another master", func() bool { return address() != before })
	hub.Suspect()
	awaitHearing(t, w, func() error { return client.Publish(t.Context(), "channel", "0").Err() })
}
