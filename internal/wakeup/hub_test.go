package wakeup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/wakeup"
)

func TestEveryMessageAfterConfirmationWakes(t *testing.T) {
	inLab(t, func(l *lab) {
		a, b := l.listen("a"), l.listen("b")
		l.wantConfirmed(a, true)
		l.wantConfirmed(b, true)
		l.wantWakes(a, 0) // a first confirmation is no gap
		for range 100 {
			l.server.Publish("a", "0")
		}
		l.wantWakes(a, 100)
		l.wantWakes(b, 0)
		a.Close()
		b.Close()
	})
}

func TestWakeMayUseTheHub(t *testing.T) {
	inLab(t, func(l *lab) {
		var a, b *wakeup.Listener
		done := make(chan struct{})
		a = l.hub.Listen("a", func(string) {
			a.Close()
			b = l.hub.Listen("b", func(string) {}, nil)
			l.hub.Suspect()
			close(done)
		}, nil)
		<-a.Confirmed()
		l.server.Publish("a", "0")
		<-done
		<-b.Confirmed()
		b.Close()
		time.Sleep(time.Second)
	})
}

func TestASecondListenerSharesTheSubscriptionAndIsConfirmedAtOnce(t *testing.T) {
	inLab(t, func(l *lab) {
		first := l.listen("a")
		l.wantConfirmed(first, true)
		second := listen(l.hub, "a")
		if !second.confirmed() {
			t.Fatal("not confirmed when Listen returned")
		}
		l.server.Publish("a", "0")
		l.wantWakes(first, 1)
		l.wantWakes(second, 1)
		first.Close()
		first.Close() // counts once
		l.server.Publish("a", "0")
		l.wantWakes(first, 1)
		l.wantWakes(second, 2)
		second.Close()
		l.wantSubscribers("a", 0)
		if n := len(l.saw("subscribe")); n != 1 {
			t.Fatalf("%d SUBSCRIBEs, want 1", n)
		}
	})
}

func TestASubscriptionOutlivesItsLastListenerByLinger(t *testing.T) {
	inLab(t, func(l *lab) {
		l.linger.Store(int64(5 * time.Second))
		keep, a := l.listen("keep"), l.listen("a")
		a.Close()
		time.Sleep(5*time.Second - 1)
		l.wantSubscribers("a", 1)
		again := listen(l.hub, "a")
		if !again.confirmed() {
			t.Fatal("listening again during linger is not confirmed at once")
		}
		time.Sleep(time.Hour)
		l.wantSubscribers("a", 1)
		if n := len(l.saw("subscribe")); n != 2 {
			t.Fatalf("%d SUBSCRIBEs, want 2: one for each channel", n)
		}

		l.linger.Store(int64(7 * time.Second)) // read each time
		again.Close()
		time.Sleep(7*time.Second - 1)
		l.wantSubscribers("a", 1)
		time.Sleep(time.Nanosecond)
		l.wantSubscribers("a", 0)
		l.wantSubscribers("keep", 1)
		l.server.Publish("keep", "0")
		l.wantWakes(keep, 1)

		keep.Close()
		time.Sleep(7*time.Second - 1)
		l.wantSubscribers("keep", 1)
		time.Sleep(time.Nanosecond)
		l.wantSubscribers("keep", 0)
		select { // with the last subscription goes the connection
		case <-l.last().closed:
		default:
			t.Fatal("the connection is still open")
		}
		if n := len(l.dialled()); n != 1 {
			t.Fatalf("%d connections, want 1", n)
		}
		back := l.listen("a")
		l.wantConfirmed(back, true)
		back.Close()
		time.Sleep(7 * time.Second)
	})
}

func TestTenThousandChannelsTakeAFewCommands(t *testing.T) {
	inLab(t, func(l *lab) {
		l.linger.Store(int64(time.Second))
		listening := make(chan struct{}) // the first connection stands when all listen, however the goroutines run
		l.setDial(func(context.Context) error { <-listening; return nil })
		waiters := make([]*waiter, 10_000)
		for i := range waiters {
			waiters[i] = listen(l.hub, fmt.Sprint("channel", i))
		}
		close(listening)
		for _, w := range waiters {
			l.wantConfirmed(w, true)
		}
		if n := len(l.saw("subscribe")); n > 20 {
			t.Fatalf("%d SUBSCRIBEs", n)
		}
		keep := l.listen("keep")
		for i, w := range waiters {
			w.Close()
			if i%100 == 0 {
				time.Sleep(time.Millisecond) // so that they do not all expire at once
			}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if channels := l.server.PubSubChannels(""); !slices.Equal(channels, []string{"keep"}) {
			t.Fatalf("%d channels left", len(channels))
		}
		if n := len(l.saw("unsubscribe")); n == 0 || n > 30 {
			t.Fatalf("%d UNSUBSCRIBEs", n)
		}
		keep.Close()
		time.Sleep(time.Second)
	})
}

// The answer to a subscription that was left meanwhile must not confirm the one made after it.
func TestAStaleConfirmationDoesNotConfirmANewListener(t *testing.T) {
	inLab(t, func(l *lab) {
		keep := l.listen("keep")
		l.wantConfirmed(keep, true)
		c := l.last()
		c.slow.Store(true)
		old := l.listen("a") // sent, the answer waits
		old.Close()
		time.Sleep(100 * time.Millisecond)
		fresh := l.listen("a")
		time.Sleep(100 * time.Millisecond)
		if n := len(l.saw("subscribe")); n != 3 {
			t.Fatalf("%d SUBSCRIBEs, want 3", n)
		}
		for range 2 { // the old subscription, its end
			c.let <- struct{}{}
			l.wantConfirmed(fresh, false)
		}
		c.let <- struct{}{}
		l.wantConfirmed(fresh, true)
		l.wantConfirmed(old, false)
		l.wantSubscribers("a", 1)
		c.slow.Store(false)
		fresh.Close()
		keep.Close()
		time.Sleep(time.Second)
	})
}

// What piles up behind a slow write goes out together, and a name that was left and listened to again ends subscribed.
func TestANameLeftAndTakenAgainBehindASlowWriteStaysSubscribed(t *testing.T) {
	inLab(t, func(l *lab) {
		keep, a := l.listen("keep"), l.listen("a")
		l.wantConfirmed(a, true)
		c := l.last()
		c.jam.Store(true)
		other := l.listen("other") // stuck in the write
		a.Close()
		time.Sleep(100 * time.Millisecond)
		fresh := l.listen("a")
		l.wantConfirmed(fresh, false)
		c.jam.Store(false)
		c.let <- struct{}{}
		for _, w := range []*waiter{other, fresh} {
			l.wantConfirmed(w, true)
		}
		l.wantSubscribers("a", 1)
		l.server.Publish("a", "0")
		l.wantWakes(fresh, 1)
		l.wantWakes(a, 0)
		for _, w := range []*waiter{keep, other, fresh} {
			w.Close()
		}
		time.Sleep(time.Second)
	})
}

func TestARefusedChannelTakesNoOtherDownAndIsTriedSlowly(t *testing.T) {
	inLab(t, func(l *lab) {
		var allowed atomic.Bool
		l.refuse = func(channel string) bool { return channel == "bad" && !allowed.Load() }
		first := l.listen("first") // so that the rest goes out in one command
		var good []*waiter
		var bad *waiter
		for i := range 100 {
			if i == 37 {
				bad = listen(l.hub, "bad")
			}
			good = append(good, listen(l.hub, fmt.Sprint("good", i)))
		}
		for _, w := range good {
			l.wantConfirmed(w, true)
		}
		l.wantConfirmed(bad, false)
		before := len(l.saw("subscribe"))
		if before > 20 {
			t.Fatalf("%d SUBSCRIBEs to find one of a hundred", before)
		}
		time.Sleep(time.Minute)
		if n := len(l.saw("subscribe")) - before; n < 3 || n > 20 {
			t.Fatalf("tried again %d times in a minute", n)
		}
		for _, w := range good {
			l.wantWakes(w, 0)
		}
		if n := len(l.dialled()); n != 1 {
			t.Fatalf("%d connections, want 1", n)
		}
		allowed.Store(true)
		time.Sleep(15 * time.Second)
		l.wantConfirmed(bad, true)
		for _, w := range append(good, bad, first) {
			w.Close()
		}
		time.Sleep(time.Second)
	})
}

func TestAClosedClientWakesEverybodyOnceAndNothingSpins(t *testing.T) {
	inLab(t, func(l *lab) {
		l.linger.Store(int64(5 * time.Second))
		waiters := []*waiter{l.listen("a"), l.listen("a"), l.listen("b")}
		if err := l.client.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, w := range waiters {
			l.wantWakes(w, 2) // the loss, then the end
		}
		dials := len(l.dialled())
		time.Sleep(time.Hour)
		for _, w := range waiters {
			l.wantWakes(w, 2)
		}
		late := l.listen("c")
		time.Sleep(time.Hour)
		l.wantConfirmed(late, false)
		l.wantWakes(late, 1)
		l.wantWakes(waiters[0], 3)
		if n := len(l.dialled()); n != dials {
			t.Fatalf("%d connections after the client was closed", n-dials)
		}
		l.hub.Suspect()
		time.Sleep(time.Hour)
		l.wantWakes(late, 1)
		for _, w := range append(waiters, late) {
			w.Close() // after this, and without any wait, nothing of the hub is left
		}
	})
}

// A cluster client answers ErrClosed also for a node that left, so one such answer is not believed, but a few are.
func TestAClosedClusterClientIsBelievedSoon(t *testing.T) {
	inLab(t, func(l *lab) {
		var reloads atomic.Int64
		l.hub = wakeup.New(wakeup.Config{Client: l.client, Reload: func() { reloads.Add(1) }})
		a := l.listen("a")
		if err := l.client.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		l.wantWakes(a, 2)
		if n := reloads.Load(); n < 3 || n > 6 {
			t.Fatalf("%d reloads", n)
		}
		a.Close()
	})
}

func TestSuspicionRebuildsOnceASecondAndWakesAfterwards(t *testing.T) {
	inLab(t, func(l *lab) {
		l.hub.Suspect() // nothing to suspect
		synctest.Wait()
		a := l.listen("a")
		l.wantConfirmed(a, true)
		time.Sleep(time.Minute)
		l.hub.Suspect()
		l.wantWakes(a, 0) // not yet: a wake now could only be met by the same wrong node
		time.Sleep(500 * time.Millisecond)
		l.wantWakes(a, 1)
		l.wantSubscribers("a", 1)
		for range 1000 { // ten seconds of failing callers
			l.hub.Suspect()
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		if n := len(l.dialled()); n < 10 || n > 13 {
			t.Fatalf("%d connections, want about one a second", n)
		}
		l.wantSubscribers("a", 1)
		wakes := a.wakes.Load()
		time.Sleep(time.Hour)
		l.wantWakes(a, wakes)
		a.Close()
	})
}

func TestSuspicionLetsASlowDialFinish(t *testing.T) {
	inLab(t, func(l *lab) {
		l.setDial(func(context.Context) error { time.Sleep(2500 * time.Millisecond); return nil })
		a := l.listen("a")
		for range 24 {
			time.Sleep(100 * time.Millisecond)
			l.hub.Suspect()
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if n := len(l.dialled()); n > 2 {
			t.Fatalf("%d connections begun in 2.5 s", n)
		}
		time.Sleep(time.Minute)
		l.wantConfirmed(a, true)
		l.wantSubscribers("a", 1)
		a.Close()
		time.Sleep(time.Second)
	})
}

func TestAClosedListenerIsNotWokenByALoss(t *testing.T) {
	inLab(t, func(l *lab) {
		l.linger.Store(int64(time.Minute))
		keep, a := l.listen("keep"), l.listen("a")
		a.Close()
		if err := l.last().Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		l.wantWakes(a, 0)
		l.wantSubscribers("keep", 1)
		l.wantSubscribers("a", 0) // what lingers for nobody is not built up again
		keep.Close()
		time.Sleep(time.Minute)
	})
}

var errRefused = errors.New("connection refused")
