package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/naive"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// A job is what a worker is told to do.
type job struct {
	Options Options
	Name    string
	Number  uint64
	Lane    history.Lane
	Servers address
	Timeout time.Duration // for an answer
	RESP2   bool
	Begin   history.Time // of the first round
}

// threads are how many goroutines of a worker make calls.
const threads = 5

// Work is the main function of a worker. It makes its calls until the time is over, says so on its standard output, and
// stays for what the library still does behind them, until its standard input ends.
func Work(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	redis.SetLogger(quiet{})
	journal, err := history.Open(j.Options.Out, j.Name)
	if err != nil {
		return err
	}
	w := &worker{job: j, journal: journal, objects: j.Options.objects(j.Lane), queued: map[string]history.Time{}}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithDeadline(context.Background(), time.Now().Add(time.Duration(w.end()-now())))
	defer cancel()
	var work sync.WaitGroup
	work.Go(w.watchQueues)
	actor := w.actor()
	for i := range uint64(threads) {
		work.Go(func() { w.run(actor, rand.New(rand.NewPCG(j.Options.Seed, j.Number<<8+i))) })
	}
	work.Wait()
	if _, err := fmt.Println(done); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

const done = "done"

// quiet is what the client library logs through: it reports each failed connection.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

type worker struct {
	job
	ctx     context.Context // ends with the time
	journal *history.Journal
	objects []sim.Object

	mu     sync.Mutex
	kept   []any
	queued map[string]history.Time
}

func (w *worker) end() history.Time { return w.Begin + history.Time(w.Options.For) }

func (w *worker) actor() *sim.Actor {
	a := &sim.Actor{
		Objects: w.objects, Suite: sim.Library, Context: w.ctx, Now: now, Record: w.record, QueuedAt: w.queuedAt, Keep: w.keep,
		Wrong: func(format string, args ...any) {
			w.record(history.Record{What: history.Broken, Text: fmt.Sprintf(format, args...)})
		},
	}
	if w.Options.Naive && w.Lane == history.Faulty {
		a.Suite = naive.Suite()
	}
	a.Redis = w.Servers.clients(w.Timeout, w.RESP2)
	return a
}

// run does one step after the other, each with an object of the round that it begins in.
func (w *worker) run(actor *sim.Actor, dice *rand.Rand) {
	for w.ctx.Err() == nil {
		first := int(max(0, now()-w.Begin)/history.Time(round)) * atOnce
		if now() < w.Begin || first+atOnce > len(w.objects) {
			pause(w.ctx, 10*time.Millisecond)
			continue
		}
		s := draw(dice, w.objects[first:first+atOnce], first, w.Lane)
		if pause(w.ctx, s.Think) {
			actor.Take(w.ctx, s)
		}
	}
}

// record writes to the journal. Without one the worker must not act.
func (w *worker) record(r history.Record) {
	r.Client = w.Name
	if r.At == 0 {
		r.At = now()
	}
	if err := w.journal.Write(r); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (w *worker) keep(hold any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept = append(w.kept, hold); len(w.kept) > 10000 { // those before are long over
		w.kept = append([]any(nil), w.kept[5000:]...)
	}
}

func (w *worker) queuedAt(owner string) history.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queued[owner]
}

// watchQueues notes when an owner is first seen in the queue of a fair lock. It asks past the proxy.
func (w *worker) watchQueues() {
	direct := w.Servers
	direct.Proxies = nil
	rdb := direct.clients(time.Second, false)[0]
	defer func() { _ = rdb.Close() }()
	for pause(w.ctx, 20*time.Millisecond) {
		first := int(max(0, now()-w.Begin)/history.Time(round)) * atOnce
		for _, o := range w.objects[max(0, min(first-atOnce, len(w.objects))):min(first+atOnce, len(w.objects))] {
			if o.Kind != sim.Fair {
				continue
			}
			owners, _ := rdb.LRange(w.ctx, "redisson_lock_queue:{"+o.Name+"}", 0, -1).Result() // an error shows nobody
			w.mu.Lock()
			for _, owner := range owners {
				if w.queued[owner] == 0 {
					w.queued[owner] = now()
				}
			}
			w.mu.Unlock()
		}
	}
}

// pause waits, and tells whether there is still time.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
