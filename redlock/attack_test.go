package redlock_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlock"
)

type ctxHook func(ctx context.Context) error

func (ctxHook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h ctxHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}
func (ctxHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type world struct {
	servers  int
	procs    int
	each     int // goroutines per process
	dead     int // server that is dead, -1 none
	hung     bool
	trip     func(p, s int) time.Duration
	order    func(p int) []int
	opts     []redlatch.Option
	section  time.Duration
	think    time.Duration
	lasts    time.Duration
	goodname string
}

func attack(t *testing.T, w world) {
	t.Run(w.goodname, func(t *testing.T) {
		redistest.Bubble(t, func(t *testing.T) {
			if w.section == 0 {
				w.section = time.Millisecond
			}
			if w.lasts == 0 {
				w.lasts = 2 * time.Second
			}
			if w.each == 0 {
				w.each = 1
			}
			var ms []*miniredis.Miniredis
			for range w.servers {
				m, _ := redistest.InMemory(t)
				ms = append(ms, m)
			}
			warm := true
			var sent [9]atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var locks []*redlock.Lock
			for p := range w.procs {
				var clients []redlatch.Client
				for i := range w.servers {
					s := i
					if w.order != nil {
						s = w.order(p)[i]
					}
					o := redistest.InMemoryOptions(ms[s])
					o.Addr = fmt.Sprintf("server-%d", s+1)
					c := redis.NewClient(o)
					t.Cleanup(func() { _ = c.Close() })
					c.AddHook(ctxHook(func(ctx context.Context) error {
						sent[s].Add(1)
						if s == w.dead && !warm {
							if w.hung {
								select {
								case <-ctx.Done():
								case <-time.After(3 * time.Second):
								}
								return io.ErrUnexpectedEOF
							}
							return io.ErrUnexpectedEOF
						}
						if w.trip != nil {
							time.Sleep(w.trip(p, s))
						} else {
							time.Sleep(300 * time.Microsecond)
						}
						return nil
					}))
					clients = append(clients, c)
				}
				locks = append(locks, redlock.New(clients, name, append(w.opts, redlatch.WithLinger(0))...))
			}
			for _, l := range locks {
				h, err := l.Lock(ctx)
				if err != nil {
					t.Fatal(err)
				}
				_ = h.Unlock(ctx)
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(time.Second)
			warm = false
			for i := range sent {
				sent[i].Store(0)
			}
			turns := make([]int64, w.procs)
			var slowest time.Duration
			var inside atomic.Int64
			var mu sync.Mutex
			var all sync.WaitGroup
			end := time.Now().Add(w.lasts)
			for p, l := range locks {
				for range w.each {
					all.Go(func() {
						for time.Now().Before(end) {
							began := time.Now()
							within, cancel := context.WithDeadline(ctx, end)
							h, err := l.Lock(within)
							took := time.Since(began)
							cancel()
							mu.Lock()
							slowest = max(slowest, took)
							mu.Unlock()
							if err != nil {
								if time.Now().Before(end) {
									t.Error(err)
								}
								return
							}
							if inside.Add(1) != 1 {
								t.Error("two inside")
							}
							time.Sleep(w.section)
							inside.Add(-1)
							mu.Lock()
							turns[p]++
							mu.Unlock()
							_ = h.Unlock(ctx)
							if w.think > 0 {
								time.Sleep(w.think)
							}
						}
					})
				}
			}
			all.Wait()
			sum := int64(0)
			for _, n := range turns {
				sum += n
			}
			per := ""
			for i := range w.servers {
				per += fmt.Sprintf(" %.1f", float64(sent[i].Load())/float64(max(sum, 1)))
			}
			t.Logf("%-40s jain %.2f  %6.0f/s  slowest %v  cmds/op%s  %v", w.goodname, redistest.Evenness(turns), float64(sum)/w.lasts.Seconds(), slowest.Round(time.Millisecond), per, turns)
			time.Sleep(3 * time.Minute)
			for i, m := range ms {
				if m.Exists(name) && i != w.dead {
					t.Errorf("server %d has the lock", i)
				}
			}
		})
	})
}

func TestAttackShares(t *testing.T) {
	for _, n := range []int{3, 5} {
		for _, p := range []int{2, 3, 10} {
			base := fmt.Sprintf("%d servers %d procs", n, p)
			attack(t, world{servers: n, procs: p, dead: -1, goodname: base + " plain"})
			attack(t, world{servers: n, procs: p, dead: -1, goodname: base + " x4", each: 4})
			attack(t, world{servers: n, procs: p, dead: -1, goodname: base + " lease", opts: []redlatch.Option{redlatch.WithLease(20 * time.Second)}})
			attack(t, world{servers: n, procs: p, dead: -1, goodname: base + " think5ms", think: 5 * time.Millisecond})
			attack(t, world{servers: n, procs: p, dead: -1, goodname: base + " first far", trip: func(p, s int) time.Duration {
				if s == 0 {
					return 2 * time.Millisecond
				}
				return 300 * time.Microsecond
			}})
			attack(t, world{servers: n, procs: p, dead: -1, goodname: base + " rotated order", order: func(p int) (o []int) {
				for i := range n {
					o = append(o, (i+p)%n)
				}
				return
			}})
			for dead := range 3 {
				for _, hung := range []bool{false, true} {
					attack(t, world{servers: n, procs: p, dead: dead, hung: hung, goodname: fmt.Sprintf("%s %d dead hung %v", base, dead, hung)})
				}
			}
		}
	}
}
