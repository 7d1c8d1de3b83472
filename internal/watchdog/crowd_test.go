package watchdog_test

import (
	"context"
	"math/rand"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/watchdog"
)

func TestBatchesHoldOneKindAndShardAndAtMostAHundred(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var owners []*owner
		for i := range 500 {
			o := w.owner(i % 2)
			if i >= 400 {
				o.batch.Kind = "read"
			}
			owners = append(owners, o)
			w.keep(o, w.renewed())
		}
		w.until(10 * time.Second)
		seen := map[*owner]bool{}
		sizes := map[watchdog.Batch]int{}
		for n, at := range w.sent() {
			require.Equal(t, 10*time.Second, at)
			c := w.call(n + 1)
			require.LessOrEqual(t, len(c.owners), 100)
			sizes[c.batch]++
			for _, o := range c.owners {
				require.Equal(t, c.batch, o.batch)
				require.False(t, seen[o])
				seen[o] = true
			}
		}
		require.Len(t, seen, 500)
		require.Equal(t, map[watchdog.Batch]int{{Kind: "lock"}: 2, {Kind: "lock", Shard: 1}: 2, {Kind: "read"}: 1, {Kind: "read", Shard: 1}: 1}, sizes)
		w.forget(owners...)
	})
}

// Ten thousand holds are a hundred scripts on one server, and thousands on a cluster, one for each slot that has any. A
// goroutine and a connection for each would be a storm every period.
func TestTheScriptsOfOneServerLeaveTogether(t *testing.T) {
	for name, test := range map[string]struct {
		server func(i int) any
		shard  func(i int) int
		sends  int
	}{
		"one server":               {func(int) any { return nil }, func(int) int { return 0 }, 1},
		"three masters":            {func(i int) any { return i % 3 }, func(i int) int { return i % 600 }, 3},
		"more slots than fit in":   {func(int) any { return 0 }, func(i int) int { return i % 1000 }, 4},
		"a cluster that is opaque": {func(i int) any { return i % 50 }, func(i int) int { return i % 50 }, 50},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				var owners []*owner
				for i := range 2000 {
					o := w.owner(test.shard(i))
					o.batch.Server = test.server(i)
					owners = append(owners, o)
					w.keep(o, w.renewed())
				}
				w.until(every)
				require.EqualValues(t, test.sends, w.sends.Load())
				seen := 0
				for n := range w.sent() {
					seen += len(w.call(n + 1).owners)
				}
				require.Equal(t, 2000, seen)
				w.forget(owners...)
			})
		})
	}
}

// One pipeline, but each script is answered for itself, as soon as its answer is there.
func TestAScriptThatFailsOrHangsTakesNoOtherAlong(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		stuck, failing, healthy := w.owner(1), w.owner(2), w.owner(3)
		w.answer = func(ctx context.Context, _ int, c *call) ([]bool, error) {
			switch c.batch.Shard {
			case 1:
				return hang(ctx)
			case 2:
				return nil, errDown
			default:
				return all(true, 1), nil
			}
		}
		for _, o := range []*owner{stuck, failing, healthy} {
			w.keep(o, w.renewed())
		}
		w.until(every)
		require.EqualValues(t, 1, w.sends.Load())
		require.Equal(t, every+trust, w.trusted(healthy))
		require.Equal(t, trust, w.trusted(failing))
		w.until(every + time.Second)
		hanging := 1
		for w.call(hanging).batch.Shard != 1 {
			hanging++
		}
		require.EqualValues(t, -1, w.call(hanging).ended, "the call goes on for the script that hangs")
		w.forget(stuck)
		require.Equal(t, every+time.Second, w.call(hanging).ended, "and ends when nobody cares for the rest of it")
		w.until(65 * time.Second)
		require.Equal(t, []loss{{trust, watchdog.Unanswered, errDown}}, failing.lost())
		require.Empty(t, healthy.lost())
		w.forget(healthy)
	})
}

func TestASendTakesAlongWhatIsDueWithinAQuarterOfItsPeriod(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		first, near, far := w.owner(0), w.owner(0), w.owner(0)
		w.keep(first, w.renewed())
		w.until(2500 * time.Millisecond)
		w.keep(near, w.renewed())
		w.until(2501 * time.Millisecond)
		w.keep(far, w.renewed())
		w.until(21 * time.Second)
		require.Equal(t, sec(10, 12.501, 20), w.sent())
		require.ElementsMatch(t, []*owner{first, near}, w.call(1).owners)
		require.Equal(t, []*owner{far}, w.call(2).owners)
		require.Equal(t, 20*time.Second+trust, w.trusted(near))
		w.forget(first, near, far)
	})
}

func TestRetriesDoNotTravelEarly(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		// At 10 s both shards are sent together and the first fails; a third ticket is due at 11.4 s, before the second
		// retry and within what would be its slack.
		failing, near, later := w.owner(0), w.owner(1), w.owner(1)
		w.answer = func(_ context.Context, _ int, c *call) ([]bool, error) {
			if c.batch.Shard == 0 {
				return nil, errDown
			}
			return all(true, len(c.owners)), nil
		}
		w.keep(failing, w.renewed())
		w.keep(near, w.renewed())
		w.until(8400 * time.Millisecond)
		w.keep(later, watchdog.Terms{Lease: 9 * time.Second, Every: 3 * time.Second, Margin: margin, Trusted: w.start.Add(17400 * time.Millisecond)})
		w.until(12 * time.Second)
		require.Equal(t, sec(10, 10, 10.5, 11.4, 11.5), w.sent())
		w.forget(failing, near, later)
	})
}

func TestSendsInFlightAreNotDoubledEarly(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		stuck, other := w.owner(1), w.owner(2)
		w.answer = func(ctx context.Context, _ int, c *call) ([]bool, error) {
			if c.batch.Shard == 1 {
				return hang(ctx)
			}
			return all(true, 1), nil
		}
		w.keep(stuck, w.renewed())
		w.until(3 * time.Second)
		w.keep(other, w.renewed())
		w.until(15 * time.Second)
		require.Equal(t, sec(10, 13, 15), w.sent())
		w.forget(stuck, other)
	})
}

// spread keeps n tickets evenly over one period and returns the number of calls made in each of the periods after it.
func spread(w *world, n, periods int, terms func() watchdog.Terms) (owners []*owner, calls []int) {
	for i := range n {
		w.until(time.Duration(i) * every / time.Duration(n))
		o := w.owner(0)
		owners = append(owners, o)
		w.keep(o, terms())
	}
	for p := range periods {
		w.until(time.Duration(p+1)*every - 1)
		before := len(w.sent())
		w.until(time.Duration(p+2)*every - 1)
		calls = append(calls, len(w.sent())-before)
	}
	return owners, calls
}

func TestTenThousandTicketsCostAHundredSendsPerPeriod(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		owners, calls := spread(w, 10_000, 6, w.renewed)
		// At first crowds of 2501 (both ends of the quarter count) and one of 2497; that one meets the first on its next
		// round and travels with it from then on. Crowds of 2501 take 26 sends, 4998 take 50.
		require.Equal(t, []int{3*26 + 50, 26 + 26 + 50, 102, 102, 102, 102}, calls)
		for _, o := range owners {
			require.GreaterOrEqual(t, time.Until(o.TrustedUntil()), trust-every)
		}
		w.forget(owners...)
	})
}

// Neither short leases nor ends of trust break up the crowds.
func TestACrowdIsNotBrokenUpByOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var others []*owner
		for i := range 5 {
			o := w.owner(1)
			o.batch.Kind = "short"
			others = append(others, o)
			w.keep(o, watchdog.Terms{Lease: time.Second, Every: 333 * time.Millisecond, Margin: margin, Trusted: w.start.Add(time.Duration(10+i) * 100 * time.Millisecond)})
		}
		for i := range 500 {
			o := w.owner(2)
			others = append(others, o)
			w.keep(o, watchdog.Terms{Every: time.Hour, Margin: margin, Trusted: w.start.Add(time.Duration(i) * 100 * time.Millisecond).Add(time.Second)})
		}
		owners, _ := spread(w, 1000, 5, w.renewed)
		long := 0
		for n, at := range w.sent() {
			if c := w.call(n + 1); at >= 30*time.Second && at < 50*time.Second && c.batch.Kind == "lock" {
				long++
			}
		}
		require.LessOrEqual(t, long, 2*20, "10 sends a period if nothing were in the way")
		w.forget(owners...)
		w.forget(others...)
	})
}

func TestAHangingShardDelaysNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		stuck, failing, healthy := w.owner(1), w.owner(2), w.owner(3)
		at := map[int][]time.Duration{}
		w.answer = func(ctx context.Context, _ int, c *call) ([]bool, error) {
			w.mu.Lock()
			at[c.batch.Shard] = append(at[c.batch.Shard], c.at)
			w.mu.Unlock()
			switch c.batch.Shard {
			case 1:
				return w.deaf(time.Hour, nil, errDown)
			case 2:
				return nil, errDown
			default:
				return all(true, 1), nil
			}
		}
		for _, o := range []*owner{stuck, failing, healthy} {
			w.keep(o, w.renewed())
		}
		w.until(65 * time.Second)
		require.Equal(t, map[int][]time.Duration{
			1: sec(10, 15, 20), 2: sec(10, 10.5, 11.5, 13.5, 17.5, 22.5, 27.5), 3: sec(10, 17.5, 27.5, 37.5, 47.5, 57.5), // along with a retry,
		}, at)
		require.Equal(t, []loss{{trust, watchdog.Unanswered, nil}}, stuck.lost())
		require.Equal(t, []loss{{trust, watchdog.Unanswered, errDown}}, failing.lost())
		require.Empty(t, healthy.lost())
		w.forget(healthy)
		w.until(2 * time.Hour)
	})
}

func TestAnOwnerSlowToHearOfItsLossDelaysNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.answer = func(context.Context, int, *call) ([]bool, error) { return nil, errDown }
		var owners []*owner
		for range 3 {
			o := w.owner(0)
			o.onLost = func() { time.Sleep(time.Minute) }
			owners = append(owners, o)
			w.keep(o, w.renewed())
		}
		w.until(time.Second)
		later := w.owner(0)
		w.keep(later, w.renewed())
		w.until(time.Hour)
		for _, o := range owners {
			require.Equal(t, []loss{{trust + time.Minute, watchdog.Unanswered, errDown}}, o.lost())
		}
		require.Equal(t, []loss{{time.Second + trust, watchdog.Unanswered, errDown}}, later.lost())
	})
}

func TestDeadlinesFindExactlyWhatIsEarlier(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var d watchdog.Deadlines
	at := map[*watchdog.Ticket]time.Duration{}
	for range 20_000 {
		moment := time.Duration(rng.Intn(1000))
		var some *watchdog.Ticket
		for some = range at {
			break
		}
		switch action := rng.Intn(5); {
		case some == nil || action < 2:
			some = new(watchdog.Ticket)
			d.Add(some, moment)
			at[some] = moment
		case action < 4:
			d.Move(some, moment)
			at[some] = moment
		default:
			d.Remove(some)
			delete(at, some)
		}
		if rng.Intn(100) == 0 {
			require.True(t, d.Consistent())
			limit := time.Duration(rng.Intn(1000))
			var want []*watchdog.Ticket
			for ticket, moment := range at {
				if moment <= limit {
					want = append(want, ticket)
				}
			}
			got := d.Until(limit)
			require.Len(t, got, len(want))
			for _, ticket := range got {
				require.LessOrEqual(t, at[ticket], limit)
			}
		}
	}
}

// Many goroutines hold and release under mutexes of their own, as real owners do, with an unruly server. A lock order
// that can deadlock hangs here, and the race detector watches.
func TestOwnersMayCallWithTheirMutexHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.answer = func(_ context.Context, n int, c *call) ([]bool, error) {
			time.Sleep(time.Duration(n%7) * 100 * time.Millisecond)
			alive := all(true, len(c.owners))
			alive[n%len(alive)] = n%5 != 0
			if n%3 == 0 {
				return nil, errDown
			}
			return alive, nil
		}
		var work sync.WaitGroup
		for g := range 50 {
			work.Go(func() {
				rng := rand.New(rand.NewSource(int64(g)))
				o := w.owner(g % 3)
				var mu sync.Mutex
				o.onBatch = func() { mu.Lock(); defer mu.Unlock() } // it only has to be free
				o.onLost = o.onBatch
				for range 50 {
					mu.Lock()
					w.keep(o, watchdog.Terms{Lease: 3 * time.Second, Every: time.Second, Margin: 30 * time.Millisecond, Trusted: time.Now().Add(2970 * time.Millisecond)})
					mu.Unlock()
					time.Sleep(time.Duration(rng.Intn(4000)) * time.Millisecond)
					_ = o.TrustedUntil()
					w.dog.Change(&o.Ticket, watchdog.Terms{Lease: 6 * time.Second, Every: 2 * time.Second, Margin: 60 * time.Millisecond, Trusted: time.Now()})
					time.Sleep(time.Duration(rng.Intn(8000)) * time.Millisecond)
					mu.Lock()
					w.forget(o)
					mu.Unlock()
				}
			})
		}
		work.Wait()
		time.Sleep(time.Minute) // the last sends pay no heed to their contexts
		require.NotEmpty(t, w.sent())
	})
}

func TestATicketIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(watchdog.Ticket{}), uintptr(80))
}
