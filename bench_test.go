package redlatch_test

// The benchmarks show what the primitives cost beside the least that would do the same work: two bare commands. Both
// run in turn, block by block, in one process against one server, so that their ratio holds on a machine whose speed
// drifts.
//
//	go test -run '^$' -bench . -benchtime 2000x
//
// They use redis-server if there is one, else miniredis, which is a hundred times slower and hides all differences.
//
//	xfloor      speed relative to the floor: 1 is as fast as the bare commands; the median of all blocks
//	pairs/s     acquisitions with their releases per second, floor/s those of the floor
//	p50/p99-us  latency of one pair
//	cmds/pair   commands that the server executed for one pair, those inside scripts not counted
//	allocs/pair allocations in this process for one pair
//	scripts/op  scripts that the server executed for one turn
//	jain        how even the shares of the goroutines are; 1 is even
//	late-ms     the longest that Lock took to return after its context had been cancelled against a silent server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	fifo "golang.org/x/sync/semaphore"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

func BenchmarkUncontended(b *testing.B) {
	contexts := map[string]func() (context.Context, context.CancelFunc){
		"background":  func() (context.Context, context.CancelFunc) { return context.Background(), func() {} },
		"cancellable": func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
	}
	for name, makeContext := range contexts {
		b.Run(name, func(b *testing.B) {
			s := newStage(b)
			ctx, cancel := makeContext()
			defer cancel()
			lock := rlock.New(s.client, s.srv.Key(b, "own"))
			bare := s.bare(s.srv.Key(b, "bare"))
			s.compare(b, 1, func(int) { lockPair(ctx, b, lock) }, func(int) { bare.pair(ctx) })
			if ctx.Done() != nil {
				s.cancelAgainstSilence(b, b.N/1000+1)
			}
		})
	}
}

// cancelAgainstSilence cancels calls that are under way to a server that has fallen silent, one for every thousand of
// the benchmark, and reports how long the slowest took to notice. The client has its default time limits, which are
// of seconds. Between the calls the server answers, so that each begins as those of the benchmark do.
func (s *stage) cancelAgainstSilence(b *testing.B, calls int) {
	proxy := faultproxy.New(b, s.srv.Addr)
	client := s.srv.Client(b, func(o *redis.Options) { o.Addr = proxy.Addr() })
	lock := rlock.New(client, s.srv.Key(b, "silence"))
	var worst time.Duration
	for range calls {
		for range 10 {
			lockPair(context.Background(), b, lock)
		}
		proxy.Hole(false, true) // commands arrive, replies do not
		ctx, cancel := context.WithCancel(context.Background())
		var cancelled time.Time
		time.AfterFunc(2*time.Millisecond, func() { cancelled = time.Now(); cancel() })
		hold, err := lock.Lock(ctx)
		late := time.Since(cancelled)
		if hold != nil || !errors.Is(err, context.Canceled) {
			b.Errorf("a silent server, and Lock returned %v, %v", hold, err)
		}
		worst = max(worst, late)
		proxy.Heal()
		lock = rlock.New(client, s.srv.Key(b, "silence")) // what was in flight is settled behind
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "late-ms")
}

func BenchmarkOwnKeys(b *testing.B) {
	for _, callers := range []int{16, 128, 1024} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := newStage(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			locks, bares := make([]*rlock.Lock, callers), make([]*bareLock, callers)
			for i := range callers {
				locks[i] = rlock.New(s.client, s.srv.Key(b, "own"))
				bares[i] = s.bare(s.srv.Key(b, "bare"))
			}
			s.compare(b, callers,
				func(i int) { lockPair(ctx, b, locks[i]) },
				func(i int) { bares[i].pair(ctx) })
		})
	}
}

// BenchmarkHotKey has everybody want the same lock. Its floor is two bare commands behind a local queue in the order of
// arrival: what one process could do without handing over if nobody else existed.
func BenchmarkHotKey(b *testing.B) {
	for _, callers := range []int{2, 16} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := newStage(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			lock := rlock.New(s.client, s.srv.Key(b, "hot"))
			bare := s.bare(s.srv.Key(b, "bare"))
			turn := fifo.NewWeighted(1)
			s.block = 2000 // a block begins with everybody asking
			s.compare(b, callers,
				func(int) { lockPair(ctx, b, lock) },
				func(int) {
					_ = turn.Acquire(ctx, 1)
					defer turn.Release(1)
					bare.pair(ctx)
				})
		})
	}
}

// BenchmarkWakeUp measures from the call of one client's Unlock to the return of another client's Lock, after both have
// been still for a while. Its floor is the bare release, whose message a subscriber answers with the bare acquisition.
func BenchmarkWakeUp(b *testing.B) {
	s := newStage(b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	name := s.srv.Key(b, "wake")
	other := s.srv.Client(b)
	holder, waiter := rlock.New(s.client, name), rlock.New(other, name)
	bare := s.bare(s.srv.Key(b, "bare"))
	bare.wake = "bare-wake"
	bareWaiter := *bare
	bareWaiter.client = other
	heard := other.Subscribe(ctx, bare.wake)
	_, err := heard.Receive(ctx)
	require.NoError(b, err)
	b.Cleanup(func() { _ = heard.Close() })

	wakeUp := func(give, take func()) time.Duration {
		woken := make(chan time.Time, 1)
		go func() {
			take()
			woken <- time.Now()
		}()
		time.Sleep(10 * time.Millisecond) // to subscribe and ask once more
		start := time.Now()
		give()
		return (<-woken).Sub(start)
	}
	var ours, floor []time.Duration
	for b.Loop() {
		hold, err := holder.Lock(ctx)
		require.NoError(b, err)
		ours = append(ours, wakeUp(
			func() { require.NoError(b, hold.Unlock(ctx)) },
			func() { hold, err = waiter.Lock(ctx) }))
		require.NoError(b, err)
		require.NoError(b, hold.Unlock(ctx))

		bare.take(ctx)
		floor = append(floor, wakeUp(
			func() { bare.give(ctx) },
			func() {
				if _, err := heard.Receive(ctx); err != nil {
					panic(err)
				}
				bareWaiter.take(ctx)
			}))
		bareWaiter.give(ctx)
		_, err = heard.Receive(ctx) // its message
		require.NoError(b, err)
	}
	b.ReportMetric(float64(median(floor))/float64(median(ours)), "xfloor")
	b.ReportMetric(float64(median(ours).Microseconds()), "p50-us")
	b.ReportMetric(float64(median(floor).Microseconds()), "floor-us")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkSemaphore(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := newStage(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			permits := semaphore.New(s.client, s.srv.Key(b, "permits"))
			_, err := permits.TrySetPermits(ctx, int64(callers))
			require.NoError(b, err)
			bares := make([]*bareLock, callers)
			for i := range bares {
				bares[i] = s.bare(s.srv.Key(b, "bare"))
			}
			s.compare(b, callers, func(int) {
				if err := permits.Acquire(ctx, 1); err != nil {
					b.Error(err)
					return
				}
				if err := permits.Release(ctx, 1); err != nil {
					b.Error(err)
				}
			}, func(i int) { bares[i].pair(ctx) })
		})
	}
}

// BenchmarkLatch sets a latch to one and counts it down; the pair is these two.
func BenchmarkLatch(b *testing.B) {
	s := newStage(b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	latch := countdownlatch.New(s.client, s.srv.Key(b, "latch"))
	bare := s.bare(s.srv.Key(b, "bare"))
	s.compare(b, 1, func(int) {
		if _, err := latch.TrySetCount(ctx, 1); err != nil {
			b.Error(err)
		}
		if err := latch.CountDown(ctx); err != nil {
			b.Error(err)
		}
	}, func(int) { bare.pair(ctx) })
}

func lockPair(ctx context.Context, b *testing.B, lock redlatch.Locker) {
	hold, err := lock.Lock(ctx)
	if err != nil {
		b.Error(err)
		return
	}
	if err := hold.Unlock(ctx); err != nil {
		b.Error(err)
	}
}

// A stage is a server and a client on it.
type stage struct {
	srv    *redistest.Server
	client *redis.Client
	block  int // pairs that are measured before it is the floor's turn
}

func newStage(b *testing.B) *stage {
	srv := redistest.Mini
	if err := servers.Look(); err == nil {
		srv = redistest.Real
	}
	s := &stage{srv: srv(b), block: 200}
	s.client = s.srv.Client(b)
	return s
}

// A bareLock is the floor: one script that takes and one that gives back, sent without any of our machinery.
type bareLock struct {
	client     *redis.Client
	key        string
	taken, put string
	wake       string // channel
}

const (
	bareTake = `if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], ARGV[1], '1') redis.call('pexpire', KEYS[1], ARGV[2]) return 1`
	bareGive = `if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('publish', ARGV[2], '0') return 1`
)

func (s *stage) bare(key string) *bareLock {
	load := func(source string) string {
		sha, err := s.client.ScriptLoad(context.Background(), source).Result()
		if err != nil {
			panic(err)
		}
		return sha
	}
	return &bareLock{client: s.client, key: key, wake: "nobody", taken: load(bareTake), put: load(bareGive)}
}

func (l *bareLock) take(ctx context.Context) {
	if n, err := l.client.EvalSha(ctx, l.taken, []string{l.key}, "me", 30000).Int(); n != 1 || err != nil {
		panic(fmt.Sprint("bare take: ", n, err))
	}
}

func (l *bareLock) give(ctx context.Context) {
	if n, err := l.client.EvalSha(ctx, l.put, []string{l.key}, "me", l.wake).Int(); n != 1 || err != nil {
		panic(fmt.Sprint("bare give: ", n, err))
	}
}

func (l *bareLock) pair(ctx context.Context) {
	l.take(ctx)
	l.give(ctx)
}

// compare runs b.N pairs of ours and of the floor, in turn, and reports both. Each of callers goroutines gets its
// number.
func (s *stage) compare(b *testing.B, callers int, ours, floor func(caller int)) {
	block := max(callers, s.block)
	var (
		ratios          []float64
		ourTime         time.Duration
		floorTime       time.Duration
		pairs, commands int64
		allocs          uint64
		latencies       []time.Duration
	)
	warm := &measurement{}
	warm.run(callers, callers*4, ours)
	warm.run(callers, callers*4, floor)
	b.ResetTimer()
	for done := 0; done < b.N; done += block {
		n := min(block, b.N-done)
		before := s.srv.Scripts(b)
		var own, bare measurement
		own.run(callers, n, ours)
		commands += s.srv.Scripts(b) - before
		bare.run(callers, n, floor)
		ratios = append(ratios, float64(bare.elapsed)/float64(own.elapsed))
		ourTime, floorTime = ourTime+own.elapsed, floorTime+bare.elapsed
		allocs += own.allocs
		pairs += int64(n)
		latencies = append(latencies, own.latencies...)
	}
	b.StopTimer()
	slices.Sort(latencies)
	b.ReportMetric(median(ratios), "xfloor")
	b.ReportMetric(float64(pairs)/ourTime.Seconds(), "pairs/s")
	b.ReportMetric(float64(pairs)/floorTime.Seconds(), "floor/s")
	b.ReportMetric(float64(latencies[len(latencies)/2].Nanoseconds())/1000, "p50-us")
	b.ReportMetric(float64(latencies[len(latencies)*99/100].Nanoseconds())/1000, "p99-us")
	b.ReportMetric(float64(commands)/float64(pairs), "cmds/pair")
	b.ReportMetric(float64(allocs)/float64(pairs), "allocs/pair")
	b.ReportMetric(0, "ns/op") // it would add both up
}

// A measurement is one block of pairs.
type measurement struct {
	elapsed   time.Duration
	allocs    uint64
	latencies []time.Duration
}

func (m *measurement) run(callers, n int, pair func(caller int)) {
	m.latencies = make([]time.Duration, n)
	var (
		next          atomic.Int64
		wg            sync.WaitGroup
		before, after runtime.MemStats
	)
	runtime.ReadMemStats(&before)
	start := time.Now()
	for caller := range callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				begin := time.Now()
				pair(caller)
				m.latencies[i] = time.Since(begin)
			}
		})
	}
	wg.Wait()
	m.elapsed = time.Since(start)
	runtime.ReadMemStats(&after)
	m.allocs = after.Mallocs - before.Mallocs
}

func median[T int | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
