package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/delay"
	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
	"github.com/redlatch/redlatch/benchmarks/internal/stats"
)

const (
	stallTries = 5
	stallLimit = time.Second / 2 // a call that has not returned by then is given its answer
)

// stalls cancels a wait whose command is on its way to a server that does not answer, and measures until the call
// returns.
func (t *Trial) stalls(ctx context.Context, results *report.Results) error {
	for _, l := range t.libraries() {
		if !l.Contends || l.Name == library.OneKeyFloor {
			continue
		}
		row, err := t.stallsOf(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		results.Stalls = append(results.Stalls, row)
	}
	return nil
}

func (t *Trial) stallsOf(ctx context.Context, l library.Library) (row report.Stall, err error) {
	proxy, err := delay.Listen(t.Server.Addr, 0)
	if err != nil {
		return row, err
	}
	defer proxy.Close() // ends what is still under way
	client, err := l.Open(t.config(proxy.Addr()))
	if err != nil {
		return row, err
	}
	defer client.Close() // an error of connections that stalled says nothing
	row = report.Stall{Library: l.Name, Tries: stallTries}
	var took []float64
	for i := range stallTries {
		handle, err := client.Handle(fmt.Sprintf("%sstall/%s/%d", prefix, l.Name, i))
		if err != nil {
			return row, err
		}
		callers := load.NewCallers([]library.Handle{handle}, true)
		if _, err := callers.Block(20 * time.Millisecond); err != nil { // the connection is there
			return row, err
		}
		late, err := cancelled(ctx, proxy, handle)
		if err != nil {
			return row, err
		}
		if late > stallLimit {
			row.Never++
		}
		took = append(took, late.Seconds()*1e3)
	}
	sum := stats.Summarize(took)
	row.Median, row.Max = sum.Median, sum.Max
	return row, nil
}

// cancelled measures one call, from the cancellation to the return.
func cancelled(ctx context.Context, proxy *delay.Proxy, handle library.Handle) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	proxy.Stall(true)
	defer proxy.Stall(false)
	returned := make(chan error, 1)
	go func() { returned <- handle.Lock(ctx) }()
	time.Sleep(20 * time.Millisecond) // the command has left
	start := time.Now()
	cancel()
	var err error
	select {
	case err = <-returned:
	case <-time.After(stallLimit):
		proxy.Stall(false)
		err = <-returned
	}
	took := time.Since(start)
	proxy.Stall(false)
	if err == nil { // it has the key all the same
		return took, handle.Unlock(context.Background())
	}
	return took, nil
}
