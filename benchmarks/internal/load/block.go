// Package load makes callers take and give back keys for a while, in this process, in several, or in a Java one, and
// counts what they got.
package load

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/stats"
)

// A Block is what callers did in a stretch of time.
type Block struct {
	Length time.Duration `json:"length"`
	Shares []int64       `json:"shares"` // pairs that ended in this time, by caller
	Waits  []int64       `json:"waits"`  // nanoseconds of each acquisition, however late it ended
	Done   int64         `json:"done"`   // pairs, with those that ended before and after
	Allocs uint64        `json:"allocs"` // of all of these; 0 when they are not known
	Stuck  int           `json:"stuck"`  // callers that got nothing within grace after the end
}

// A Runner does one block after another with the same callers.
type Runner interface {
	Block(length time.Duration) (Block, error)
	Close() error
}

// PerSecond is the rate of pairs.
func (b Block) PerSecond() float64 {
	var sum int64
	for _, share := range b.Shares {
		sum += share
	}
	return float64(sum) / b.Length.Seconds()
}

// Wait is a quantile of the waits in microseconds.
func (b Block) Wait(q float64) float64 {
	sorted := slices.Sorted(slices.Values(b.Waits))
	return float64(stats.Quantile(sorted, q)) / 1e3
}

// Merge joins the blocks that several processes did at the same time.
func Merge(blocks []Block) Block {
	merged := Block{}
	for _, b := range blocks {
		merged.Length = max(merged.Length, b.Length)
		merged.Shares = append(merged.Shares, b.Shares...)
		merged.Waits = append(merged.Waits, b.Waits...)
		merged.Done += b.Done
		merged.Allocs += b.Allocs
		merged.Stuck += b.Stuck
	}
	return merged
}

// grace is how long a caller may go on waiting when its block is over. A library that polls needs up to its interval
// for each caller; one that has lost a wake-up needs for ever.
const grace = 5 * time.Second

// Callers are the goroutines of one process.
type Callers struct {
	handles     []library.Handle
	cancellable bool
	waits       [][]int64
}

// NewCallers makes a caller of each handle. With cancellable they wait with a context that can end, as servers' do.
func NewCallers(handles []library.Handle, cancellable bool) *Callers {
	return &Callers{handles, cancellable, make([][]int64, len(handles))}
}

// Close leaves the handles' clients to whoever opened them.
func (c *Callers) Close() error { return nil }

// ramp is how long callers run before their pairs count. A thousand callers that start together end their first pairs
// together, a while later; a block that began with them would make the slow look slower than they are.
func ramp(length time.Duration) time.Duration { return length / 4 }

// Block has every caller take and give back until length is over, and then finish what it has begun.
func (c *Callers) Block(length time.Duration) (Block, error) {
	ctx := context.Background()
	if c.cancellable {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(ramp(length)+length+grace, cancel).Stop()
	}
	var (
		b             = Block{Length: length, Shares: make([]int64, len(c.handles))}
		done          = make([]int64, len(c.handles))
		errs          = make([]error, len(c.handles))
		before, after runtime.MemStats
		wg            sync.WaitGroup
	)
	runtime.GC() // or one library's garbage is another's pause
	runtime.ReadMemStats(&before)
	from := time.Now().Add(ramp(length))
	end := from.Add(length)
	for i, handle := range c.handles {
		wg.Go(func() {
			c.waits[i] = c.waits[i][:0]
			for begin := time.Now(); begin.Before(end); {
				if errs[i] = handle.Lock(ctx); errs[i] != nil {
					return
				}
				c.waits[i] = append(c.waits[i], int64(time.Since(begin)))
				if errs[i] = handle.Unlock(ctx); errs[i] != nil {
					return
				}
				done[i]++
				if begin = time.Now(); !begin.Before(from) && begin.Before(end) {
					b.Shares[i]++
				}
			}
		})
	}
	wg.Wait()
	runtime.ReadMemStats(&after)
	b.Allocs = after.Mallocs - before.Mallocs
	for i := range c.handles {
		if errs[i] != nil {
			if ctx.Err() == nil {
				return b, fmt.Errorf("caller %d of %d: %w", i+1, len(c.handles), errs[i])
			}
			b.Stuck++
			c.waits[i] = append(c.waits[i], int64(length+grace))
		}
		b.Done += done[i]
		b.Waits = append(b.Waits, c.waits[i]...)
	}
	return b, nil
}
