package wakeup_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/wakeup"
)

func TestSilenceIsProbedEverySecondAndTrafficIsNot(t *testing.T) {
	inLab(t, func(l *lab) {
		a := l.listen("a")
		time.Sleep(5500 * time.Millisecond)
		want := []time.Duration{1, 2, 3, 4, 5}
		for i := range want {
			want[i] *= time.Second
		}
		if got := l.saw("ping"); !slices.Equal(got, want) {
			t.Fatalf("pings at %v, want %v", got, want)
		}
		for range 100 {
			l.server.Publish("a", "0")
			time.Sleep(900 * time.Millisecond)
		}
		if n := len(l.saw("ping")); n != len(want) {
			t.Fatalf("%d pings between messages", n-len(want))
		}
		l.wantWakes(a, 100)
		a.Close()
	})
}

// By default the probes are few: a waiter who sees nothing change costs what its poll costs.
func TestAProbeEveryTenSecondsIsTheDefault(t *testing.T) {
	inLab(t, func(l *lab) {
		l.hub = wakeup.New(wakeup.Config{Client: l.client})
		a := l.listen("a")
		time.Sleep(35 * time.Second)
		want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}
		if got := l.saw("ping"); !slices.Equal(got, want) {
			t.Fatalf("pings at %v, want %v", got, want)
		}
		a.Close()
	})
}

func TestAHalfOpenConnectionIsNoticedAfterIdleAndPong(t *testing.T) {
	for _, deaf := range []time.Duration{10_300 * time.Millisecond, 11_300 * time.Millisecond} {
		inLab(t, func(l *lab) {
			a := l.listen("a")
			time.Sleep(deaf)
			synctest.Wait()
			l.last().hole.Store(true)
			lastPong := deaf.Truncate(time.Second)
			time.Sleep(lastPong + 3*time.Second - 1 - time.Since(l.start))
			l.wantWakes(a, 0)
			time.Sleep(time.Nanosecond)
			l.wantWakes(a, 1)
			time.Sleep(100 * time.Millisecond)
			l.wantWakes(a, 2)
			if n := len(l.dialled()); n != 2 {
				t.Fatalf("%d connections, want 2", n)
			}
			l.server.Publish("a", "0")
			l.wantWakes(a, 3)
			time.Sleep(time.Minute)
			l.wantWakes(a, 3)
			a.Close()
			time.Sleep(time.Second)
		})
	}
}

func TestALossIsToldAtOnceAndAgainWhenTheSubscriptionStands(t *testing.T) {
	inLab(t, func(l *lab) {
		a := l.listen("a")
		l.wantConfirmed(a, true)
		l.setDial(func(context.Context) error { return errRefused })
		if err := l.last().Close(); err != nil {
			t.Fatal(err)
		}
		l.wantWakes(a, 1)
		added := l.listen("a")
		other := l.listen("other")
		time.Sleep(time.Minute)
		l.wantWakes(a, 1) // a failed attempt is no news
		l.wantConfirmed(added, false)
		l.wantConfirmed(other, false)
		if !a.confirmed() {
			t.Fatal("Confirmed has to stay closed")
		}
		// About 50 ms, doubling to about 2 s.
		if n := len(l.dialled()) - 1; n < 20 || n > 70 {
			t.Fatalf("%d attempts in a minute", n)
		}
		l.setDial(nil)
		time.Sleep(4 * time.Second)
		l.wantWakes(a, 2)
		l.wantConfirmed(added, true)
		l.wantConfirmed(other, true)
		l.wantSubscribers("a", 1)
		for _, w := range []*waiter{a, added, other} {
			w.Close()
		}
		time.Sleep(time.Second)
	})
}

// A server that accepts and cuts each time must not be met with a storm.
func TestRepeatedLossesBackOff(t *testing.T) {
	inLab(t, func(l *lab) {
		a := l.listen("a")
		for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
			synctest.Wait()
			if l.server.PubSubNumSub("a")["a"] > 0 {
				if err := l.last().Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := len(l.dialled()); n < 20 || n > 80 {
			t.Fatalf("%d connections in a minute", n)
		}
		time.Sleep(10 * time.Second) // it has stood: the next loss is a first one
		before, wakes := len(l.dialled()), a.wakes.Load()
		if err := l.last().Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		l.wantWakes(a, wakes+2)
		if n := len(l.dialled()); n != before+1 {
			t.Fatalf("%d connections, want 1", n-before)
		}
		a.Close()
		time.Sleep(time.Second)
	})
}

// go-redis holds the mutex of a PubSub while it dials, and a user's dialer may ignore its context.
func TestAStuckDialBlocksNobodyAndIsGivenUp(t *testing.T) {
	inLab(t, func(l *lab) {
		stuck := make(chan struct{})
		l.setDial(func(context.Context) error { <-stuck; return errRefused })
		before := time.Now()
		a := listen(l.hub, "a")
		b := listen(l.hub, "b")
		b.Close()
		l.hub.Suspect()
		if d := time.Since(before); d != 0 {
			t.Fatalf("the callers were held up for %v", d)
		}
		time.Sleep(2900 * time.Millisecond)
		if n := len(l.dialled()); n != 1 {
			t.Fatalf("%d connections begun, want 1", n)
		}
		l.setDial(nil)
		time.Sleep(200 * time.Millisecond) // given up after 3 s
		l.wantConfirmed(a, true)
		l.server.Publish("a", "0")
		l.wantWakes(a, 1)
		close(stuck)
		time.Sleep(time.Minute)
		l.wantWakes(a, 1) // the end of the one given up is nobody's loss
		a.Close()
		time.Sleep(time.Second)
	})
}

func TestDialsThatHangGetMoreTimeEachTime(t *testing.T) {
	inLab(t, func(l *lab) {
		l.setDial(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		a := l.listen("a")
		time.Sleep(25 * time.Second) // 3, 6, 12 s and short pauses between
		if n := len(l.dialled()); n != 4 {
			t.Fatalf("connections begun at %v, want 4", l.dialled())
		}
		l.setDial(func(context.Context) error { time.Sleep(10 * time.Second); return nil })
		time.Sleep(30 * time.Second)
		l.wantConfirmed(a, true)
		a.Close()
		time.Sleep(time.Second)
	})
}

func TestLeavingWhileADialHangsEndsIt(t *testing.T) {
	inLab(t, func(l *lab) {
		l.setDial(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		a := l.listen("a")
		a.Close() // the bubble would not end with a dial that hangs
	})
}

// go-redis would reconnect by itself, inside Receive, and answer only when it has. A lost connection has to be ours.
func TestOnlyTheHubRebuildsConnections(t *testing.T) {
	inLab(t, func(l *lab) {
		a := l.listen("a")
		l.setDial(func(context.Context) error { time.Sleep(2 * time.Second); return nil })
		time.Sleep(time.Minute)
		lost := time.Since(l.start)
		if err := l.last().Close(); err != nil {
			t.Fatal(err)
		}
		l.wantWakes(a, 1) // before any dial
		if n := len(l.dialled()); n != 1 {
			t.Fatalf("dialled at %v; the connection was lost at %v and is not to be mended by go-redis", l.dialled(), lost)
		}
		time.Sleep(5 * time.Second)
		l.wantWakes(a, 2)
		if n := len(l.dialled()); n != 2 {
			t.Fatalf("dialled at %v, want 2", l.dialled())
		}
		a.Close()
		time.Sleep(time.Second)
	})
}
