package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/faultproxy"
)

func TestCutAllEndsConnectionsAndNewOnesWork(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		conn := r.client.Conn()
		defer conn.Close()
		ok(t, conn.Ping(t.Context()).Err())
		r.proxy.CutAll()
		if err := conn.Ping(t.Context()).Err(); err == nil {
			t.Fatal("the connection was not cut")
		}
		ok(t, r.client.Ping(t.Context()).Err())
	})
}

func TestHoleUpSwallowsRequestsAndHoleDownReplies(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		client := r.impatient(t)
		for _, hole := range []struct {
			up, down bool
			want     string // executed so far
		}{{true, false, ""}, {false, true, "1"}, {true, true, "1"}} {
			ok(t, client.Ping(t.Context()).Err()) // a connection that was there before
			r.proxy.Hole(hole.up, hole.down)
			another, late := r.impatient(t), make(chan error, 1)
			go func() { late <- another.Incr(t.Context(), "new connection").Err() }()
			isTimeout(t, client.Incr(t.Context(), "n").Err())
			isTimeout(t, <-late)
			eventually(t, "the requests are where they belong", func() bool { return r.value(t, "n") == hole.want })
			r.proxy.Heal()
			ok(t, client.Ping(t.Context()).Err())
		}
		equal(t, "1", r.value(t, "n")) // what was swallowed is gone
		equal(t, "", r.value(t, "new connection"))
	})
}

func TestHoleLeavesConnectionsThatLostNothing(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		lossy, quiet := r.impatient(t).Conn(), r.client.Conn()
		defer lossy.Close()
		defer quiet.Close()
		ok(t, lossy.Ping(t.Context()).Err())
		ok(t, quiet.Ping(t.Context()).Err())
		r.proxy.Hole(true, true)
		isTimeout(t, lossy.Ping(t.Context()).Err())
		r.proxy.Heal()
		ok(t, quiet.Ping(t.Context()).Err())
		if lossy.Ping(t.Context()).Err() == nil {
			t.Fatal("a connection that lost a request answers again: its replies are shifted")
		}
	})
}

func TestHoleHidesTheServersEndFromTheClient(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		if r.srv.Mini == nil {
			return // covered on miniredis: the server must end here and come back for the next protocol
		}
		conn := r.impatient(t).Conn()
		defer conn.Close()
		ok(t, conn.Ping(t.Context()).Err())
		r.proxy.Hole(false, true)
		r.srv.Mini.Close()
		defer func() { ok(t, r.srv.Mini.Restart()) }()
		isTimeout(t, conn.Ping(t.Context()).Err())
	})
}

func TestHoleHidesTheClientsEndFromTheServer(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		subscribers := func() int64 { return r.direct.PubSubNumSub(t.Context(), "a").Val()["a"] }
		sub := r.client.Subscribe(t.Context(), "a")
		confirmed(t, sub, "subscribe a")
		r.proxy.Hole(true, false)
		ok(t, sub.Close())
		eventually(t, "the client has left", func() bool { return r.proxy.Conns() == 0 })
		// Long enough for the news to arrive if it were passed on: another connection makes a whole round trip.
		for range 20 {
			ok(t, r.direct.Ping(t.Context()).Err())
		}
		equal(t, int64(1), subscribers())
		r.proxy.Heal()
		eventually(t, "the server learns it", func() bool { return subscribers() == 0 })
	})
}

func TestRefusedConnectionsFailAtTheDial(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		old := r.client.Conn()
		defer old.Close()
		ok(t, old.Ping(t.Context()).Err())
		r.proxy.Refuse(true)
		if err := r.impatient(t).Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("got %v, want a refused connection", err)
		}
		ok(t, old.Ping(t.Context()).Err())
		r.proxy.Refuse(false)
		ok(t, r.impatient(t).Ping(t.Context()).Err())
	})
}

func TestHangingConnectionsAreAcceptedAndNeverAnswered(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		old := r.client.Conn()
		defer old.Close()
		ok(t, old.Ping(t.Context()).Err())
		r.proxy.Hang(true)
		isTimeout(t, r.impatient(t).Ping(t.Context()).Err())
		ok(t, old.Ping(t.Context()).Err())
		r.proxy.Hang(false)
		ok(t, r.impatient(t).Ping(t.Context()).Err())
	})
}

func TestLatencyDelaysWithoutSerialising(t *testing.T) {
	const oneWay, callers = 100 * time.Millisecond, 20
	each(t, func(t *testing.T, r rig) {
		conns := make([]*redis.Conn, callers) // set up before it gets slow
		for i := range conns {
			conns[i] = r.client.Conn()
			defer conns[i].Close()
			ok(t, conns[i].Ping(t.Context()).Err())
		}
		r.proxy.Latency(oneWay)
		began := time.Now()
		_, err := conns[0].Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for i := range 50 {
				pipe.Set(t.Context(), fmt.Sprint(i), i, 0)
			}
			return nil
		})
		ok(t, err)
		var work sync.WaitGroup
		for _, conn := range conns {
			work.Go(func() { _ = conn.Ping(context.Background()) })
		}
		work.Wait()
		// Two round trips. One after another it would be 70.
		switch took := time.Since(began); {
		case took < 4*oneWay:
			t.Fatalf("two round trips took %v", took)
		case took > 70*oneWay:
			t.Fatalf("two round trips took %v: one waited for another", took)
		}
	})
}

func TestDroppedMessagesLeaveConfirmationsAndRepliesAlone(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		sub := r.client.Subscribe(t.Context(), "a", "b")
		defer sub.Close()
		confirmed(t, sub, "subscribe a", "subscribe b")
		ok(t, r.direct.Publish(t.Context(), "a", "1").Err())
		received(t, sub, "1")

		r.proxy.DropMessages(true)
		equal(t, int64(1), r.direct.Publish(t.Context(), "a", "2").Val())
		ok(t, sub.Subscribe(t.Context(), "c"))
		confirmed(t, sub, "subscribe c")
		ok(t, sub.Ping(t.Context(), "x"))
		pong, err := sub.Receive(t.Context())
		ok(t, err)
		equal(t, "x", pong.(*redis.Pong).Payload)
		eventually(t, "the message is dropped", func() bool { return r.proxy.DroppedMessages() == 1 })

		r.proxy.DropMessages(false)
		ok(t, r.direct.Publish(t.Context(), "c", "3").Err())
		received(t, sub, "3")
		ok(t, sub.Unsubscribe(t.Context())) // three confirmations for no name
		for range 3 {
			_, err := sub.Receive(t.Context())
			ok(t, err)
		}
		equal(t, 1, r.proxy.Executed("UNSUBSCRIBE"))
		ok(t, sub.Subscribe(t.Context(), "d"))
		confirmed(t, sub, "subscribe d")
	})
}

func TestHeldMessagesArriveInOrderWhenLetGo(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		sub := r.client.PSubscribe(t.Context(), "a*")
		defer sub.Close()
		confirmed(t, sub, "psubscribe a*")
		r.proxy.HoldMessages(true)
		for i := range 3 {
			ok(t, r.direct.Publish(t.Context(), "abc", i).Err())
		}
		eventually(t, "they are held", func() bool { return r.proxy.HeldMessages() == 3 })
		ok(t, sub.Subscribe(t.Context(), "b"))
		confirmed(t, sub, "subscribe b")
		r.proxy.HoldMessages(false)
		received(t, sub, "0", "1", "2")
	})
}

func TestRulesCountRepliesAlsoBetweenMessages(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		sub := r.client.Subscribe(t.Context(), "a", "b")
		defer sub.Close()
		confirmed(t, sub, "subscribe a", "subscribe b")
		rule := r.proxy.On(faultproxy.Named("PING"), 1, faultproxy.CloseAfter)
		for i := range 10 {
			ok(t, r.direct.Publish(t.Context(), "b", i).Err())
		}
		equal(t, 0, rule.Executed())
		received(t, sub, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
		ok(t, sub.Ping(t.Context())) // only now: miniredis may answer before it has sent the last message
		_, err := sub.Receive(t.Context())
		isEOF(t, err)
	})
}

func confirmed(t *testing.T, sub *redis.PubSub, want ...string) {
	t.Helper()
	for _, w := range want {
		got, err := sub.Receive(t.Context())
		ok(t, err)
		s, isSubscription := got.(*redis.Subscription)
		if !isSubscription || s.Kind+" "+s.Channel != w {
			t.Fatalf("got %v, want the confirmation %q", got, w)
		}
	}
}

func received(t *testing.T, sub *redis.PubSub, want ...string) {
	t.Helper()
	for _, w := range want {
		got, err := sub.Receive(t.Context())
		ok(t, err)
		if m, isMessage := got.(*redis.Message); !isMessage || m.Payload != w {
			t.Fatalf("got %v, want the message %q", got, w)
		}
	}
}
