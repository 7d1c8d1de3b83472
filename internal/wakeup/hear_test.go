package wakeup_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/wakeup"
)

// A hearer keeps what it hears, in order.
type hearer struct {
	*wakeup.Listener
	mu    sync.Mutex
	texts []string
}

func hear(hub *wakeup.Hub, channel string) *hearer {
	h := &hearer{}
	h.Listener = hub.Listen(channel, func(message string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.texts = append(h.texts, message)
	}, nil)
	return h
}

func (h *hearer) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.texts)
}

func (l *lab) wantHeard(h *hearer, want ...string) {
	l.t.Helper()
	synctest.Wait()
	if got := h.heard(); !slices.Equal(got, want) {
		l.t.Fatalf("after %v: heard %q, want %q", time.Since(l.start), got, want)
	}
}

func TestEveryTextAfterConfirmationIsHeardInOrderAndNoneAfterClose(t *testing.T) {
	inLab(t, func(l *lab) {
		l.server.Publish("a", "before")
		a, b := hear(l.hub, "a"), hear(l.hub, "b")
		<-a.Confirmed()
		<-b.Confirmed()
		l.wantHeard(a) // a confirmation says nothing
		var want []string
		for i := range 200 {
			want = append(want, strconv.Itoa(i))
			l.server.Publish("a", strconv.Itoa(i))
		}
		l.server.Publish("a", "") // is a message too
		want = append(want, "")
		l.wantHeard(a, want...)
		l.wantHeard(b)
		a.Close()
		a.Close() // counts once
		l.server.Publish("a", "after")
		l.server.Publish("b", "for b")
		l.wantHeard(a, want...)
		l.wantHeard(b, "for b")
		b.Close()
		time.Sleep(time.Second) // sweeps keep a distance
		l.wantSubscribers("a", 0)
		l.wantSubscribers("b", 0)
	})
}

func TestChannelsThatAreListenedToTogetherAreSubscribedAndLeftByOneCommand(t *testing.T) {
	inLab(t, func(l *lab) {
		first := hear(l.hub, "first") // the connection stands, and the next channel is subscribed as soon as it is known
		<-first.Confirmed()
		groups := [][]*wakeup.Listener{{first.Listener}}
		for i := range 20 {
			var wanted []wakeup.Wanted
			for _, what := range []string{"a", "b", "c"} {
				wanted = append(wanted, wakeup.Wanted{Channel: what + strconv.Itoa(i), Hear: func(string) {}})
			}
			listeners := l.hub.Listeners(wanted...)
			l.hub.OpenAll(listeners...)
			for _, listener := range listeners {
				<-listener.Confirmed()
			}
			groups = append(groups, listeners)
		}
		require.Len(t, l.saw("subscribe"), 1+20)
		for _, listeners := range slices.Backward(groups) {
			l.hub.CloseAll(listeners...)
			time.Sleep(time.Second) // sweeps keep a distance
		}
		require.Len(t, l.saw("unsubscribe"), 20, "with the last channel goes the connection")
	})
}

func TestWhoHearsAndWhoListensShareASubscription(t *testing.T) {
	inLab(t, func(l *lab) {
		listener, first := l.listen("a"), hear(l.hub, "a")
		select {
		case <-first.Confirmed():
		default:
			t.Fatal("not confirmed when Hear returned")
		}
		second := hear(l.hub, "a")
		l.server.Publish("a", "1")
		l.wantWakes(listener, 1)
		l.wantHeard(first, "1")
		l.wantHeard(second, "1")
		listener.Close()
		l.server.Publish("a", "2")
		l.wantWakes(listener, 1)
		l.wantHeard(first, "1", "2")
		first.Close()
		l.wantSubscribers("a", 1)
		again := l.listen("a")
		l.wantConfirmed(again, true)
		l.server.Publish("a", "3")
		l.wantWakes(again, 1)
		l.wantHeard(first, "1", "2")
		l.wantHeard(second, "1", "2", "3")
		second.Close()
		again.Close()
		time.Sleep(time.Second)
		l.wantSubscribers("a", 0)
		if n := len(l.saw("subscribe")); n != 1 {
			t.Fatalf("%d SUBSCRIBEs, want 1", n)
		}
	})
}

// Who hears is told nothing of a gap, in which messages may be missed, and hears again after it.
func TestAGapIsToldToThoseWhoListenAndNotToThoseWhoHear(t *testing.T) {
	inLab(t, func(l *lab) {
		listener, h := l.listen("a"), hear(l.hub, "a")
		l.server.Publish("a", "1")
		l.wantHeard(h, "1")
		l.wantWakes(listener, 1)
		_ = l.last().Close()
		time.Sleep(time.Minute)
		if listener.wakes.Load() < 2 {
			t.Fatal("the gap was not told")
		}
		l.wantHeard(h, "1")
		l.server.Publish("a", "2")
		l.wantHeard(h, "1", "2")
		listener.Close()
		h.Close()
	})
}

func TestHearMayUseTheHub(t *testing.T) {
	inLab(t, func(l *lab) {
		var a *wakeup.Listener
		heard := make(chan string, 1)
		a = l.hub.Listen("a", func(message string) {
			a.Close()
			b := l.hub.Listen("b", func(string) {}, nil)
			l.hub.Suspect()
			b.Close()
			heard <- message
		}, nil)
		<-a.Confirmed()
		l.server.Publish("a", "text")
		if got := <-heard; got != "text" {
			t.Fatalf("heard %q", got)
		}
		time.Sleep(time.Second)
	})
}

// The same on a server, with messages that are published while others come and go.
func TestTextsAreHeardOnceEachOnARealServer(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		hub := wakeup.New(wakeup.Config{Client: client})
		channel := srv.Key(t, "channel")
		h := hear(hub, channel)
		defer h.Close()
		eventually(t, "the subscription is confirmed", func() bool {
			select {
			case <-h.Confirmed():
				return true
			default:
				return false
			}
		})
		var want []string
		for i := range 100 {
			other := hear(hub, channel)
			passing := listen(hub, srv.Key(t, "other"))
			want = append(want, fmt.Sprint(i, " of 100"))
			if err := client.Publish(t.Context(), channel, want[i]).Err(); err != nil {
				t.Fatal(err)
			}
			other.Close()
			passing.Close()
		}
		eventually(t, "everything is heard", func() bool { return len(h.heard()) >= len(want) })
		if got := h.heard(); !slices.Equal(got, want) {
			t.Fatalf("heard %q", got)
		}
	})
}

func TestWhoListensAndHearsIsWokenByALossAndNotByAMessage(t *testing.T) {
	inLab(t, func(l *lab) {
		var wakes atomic.Int64
		h := &hearer{}
		h.Listener = l.hub.Listen("a", func(message string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.texts = append(h.texts, message)
		}, func() { wakes.Add(1) })
		defer h.Close()
		<-h.Confirmed()
		l.server.Publish("a", "7")
		l.wantHeard(h, "7")
		if wakes.Load() != 0 {
			t.Fatal("woken by a message")
		}
		_ = l.last().Close()
		time.Sleep(time.Minute)
		if wakes.Load() != 2 {
			t.Fatalf("woken %d times, want when the connection was lost and when it stood again", wakes.Load())
		}
		l.wantHeard(h, "7")
	})
}
