package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
)

// Waking measures from the moment at which a caller begins to give a key back until another one has it, of the same client or
// of another.
type Waking struct {
	holder, waiter library.Client
	give, take     library.Handle
}

// NewWaking opens two clients of the library, or with same one.
func NewWaking(l library.Library, config library.Config, key string, same bool) (*Waking, error) {
	w := &Waking{}
	var err error
	if w.holder, err = l.Open(config); err != nil {
		return nil, err
	}
	waiter := l.Open
	if l.Waiter != nil {
		waiter = l.Waiter
	}
	if same {
		w.waiter = w.holder
	} else if w.waiter, err = waiter(config); err != nil {
		return nil, errors.Join(err, w.holder.Close())
	}
	if w.give, err = w.holder.Handle(key); err == nil {
		w.take, err = w.waiter.Handle(key)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close closes both.
func (w *Waking) Close() (err error) {
	if w.waiter != w.holder {
		err = w.waiter.Close()
	}
	return errors.Join(err, w.holder.Close())
}

// asleep is how long a waiter has at least to ask, to subscribe and to ask again. The rest, up to twice as much, is
// drawn, so that those who poll are met at any moment of their interval.
const asleep = 20 * time.Millisecond

// Block measures until length is over. What it measured is in the waits.
func (w *Waking) Block(length time.Duration) (Block, error) {
	ctx, cancel := context.WithTimeout(context.Background(), length+grace)
	defer cancel()
	b := Block{Length: length, Shares: []int64{0}}
	for end := time.Now().Add(length); time.Now().Before(end); {
		start := time.Now()
		woken, err := w.once(ctx)
		if err != nil && ctx.Err() != nil { // nobody woke the waiter
			b.Stuck++
			woken = time.Since(start)
		} else if err != nil {
			return b, err
		}
		b.Waits = append(b.Waits, int64(woken))
		b.Shares[0]++
		b.Done += 2 // the holder's and the waiter's
	}
	return b, nil
}

func (w *Waking) once(ctx context.Context) (time.Duration, error) {
	if err := w.give.Lock(ctx); err != nil {
		return 0, fmt.Errorf("the holder: %w", err)
	}
	type taken struct {
		at  time.Time
		err error
	}
	got := make(chan taken, 1)
	go func() {
		err := w.take.Lock(ctx)
		got <- taken{time.Now(), err}
	}()
	time.Sleep(asleep + rand.N(asleep))
	start := time.Now()
	err := w.give.Unlock(ctx)
	t := <-got
	if err = errors.Join(err, t.err); err != nil {
		return 0, err
	}
	return t.at.Sub(start), w.take.Unlock(ctx)
}
