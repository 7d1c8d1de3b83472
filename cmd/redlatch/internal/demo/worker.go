package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/countdownlatch"
)

const (
	jobTime  = 250 * time.Millisecond // on average
	thinking = 3 * time.Millisecond   // between reading the ledger and writing it: the window that the lock closes
	recheck  = 250 * time.Millisecond // when others have all that is left
)

// tools are what a worker relies on to not be in another's way. Without one of them the verdict must be different.
type tools struct {
	exclusive func(ctx context.Context, fn func(context.Context) error) error // under the lock
	admitted  func(ctx context.Context, fn func(context.Context) error) error // with a permit
	present   func(ctx context.Context, worker int) (bool, error)             // whether that worker may still be at its job
}

type worker struct {
	orders
	names
	tools
	client        *redis.Client
	start, finish *countdownlatch.Latch
	sections      int // critical sections entered, to tell their marks apart
}

// live is the worker's life. ctx ends when the presence lock is lost: from then on others may take its job.
func (w *worker) live(ctx context.Context) error {
	if err := w.note(ctx, entry{kind: ready}); err != nil {
		return err
	}
	if err := w.start.Await(ctx); err != nil {
		return fmt.Errorf("await the start: %w", err)
	}
	if err := w.note(ctx, entry{kind: started}); err != nil {
		return err
	}
	for {
		job, attempt, over, err := w.takeJob(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("take a job: %w", err)
		case over:
			return w.note(ctx, entry{kind: bye})
		case job == 0:
			// All is taken. Either the others finish it, or one of them dies and its job is free.
			if err := w.awaitFinish(ctx); err != nil {
				return err
			}
			continue
		}
		if err := w.runJob(ctx, job, attempt); err != nil {
			return fmt.Errorf("run job %d: %w", job, err)
		}
		recorded, err := w.finishJob(ctx, job, attempt)
		if err != nil {
			return fmt.Errorf("record job %d: %w", job, err)
		}
		if recorded {
			if err := w.finish.CountDown(ctx); err != nil {
				return fmt.Errorf("count down job %d: %w", job, err)
			}
		}
	}
}

// takeJob answers job 0 when there is none to take, and over when there will be none.
func (w *worker) takeJob(ctx context.Context) (job, attempt int, over bool, err error) {
	err = w.section(ctx, func(ctx context.Context) error {
		book, err := w.readLedger(ctx, w.client)
		if err != nil {
			return err
		}
		job, over, err = book.take(w.Worker, func(other int) (bool, error) { return w.present(ctx, other) })
		if err != nil || job == 0 {
			return err
		}
		attempt = book.Jobs[job-1].Attempt
		if err := w.change(ctx, book, entry{kind: taken, job: job, attempt: attempt}); err != nil {
			return err
		}
		if job == w.FatalJob && attempt == 1 {
			return w.awaitDeath(ctx, job)
		}
		return nil
	})
	return job, attempt, over, err
}

// finishJob answers whether the job was still this worker's to record.
func (w *worker) finishJob(ctx context.Context, job, attempt int) (recorded bool, err error) {
	err = w.section(ctx, func(ctx context.Context) error {
		book, err := w.readLedger(ctx, w.client)
		if err != nil {
			return err
		}
		if recorded = book.finish(job, w.Worker, attempt); !recorded {
			return w.note(ctx, entry{kind: disowned, job: job, attempt: attempt})
		}
		return w.change(ctx, book, entry{kind: finished, job: job, attempt: attempt})
	})
	return recorded, err
}

// change writes the ledger back. The transaction keeps ledger and journal in step when the worker is killed; it does
// not guard against what happened to the ledger since it was read.
func (w *worker) change(ctx context.Context, book ledger, e entry) error {
	if err := pause(ctx, thinking); err != nil {
		return err
	}
	_, err := w.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		if err := w.writeLedger(ctx, tx, book); err != nil {
			return err
		}
		return w.noteIn(ctx, tx, e)
	})
	return err
}

// section runs fn under the lock, between a mark in the witness key and a look whether the mark is still there.
func (w *worker) section(ctx context.Context, fn func(ctx context.Context) error) error {
	return w.exclusive(ctx, func(ctx context.Context) error {
		w.sections++
		mark := fmt.Sprintf("%d:%d", w.Worker, w.sections)
		before, err := w.swapWitness(ctx, mark)
		if err != nil {
			return err
		}
		if err := w.note(ctx, entry{kind: enter, found: before}); err != nil {
			return err
		}
		if err := fn(ctx); err != nil {
			return err // the mark stays, as it does when the worker is killed
		}
		after, err := w.swapWitness(ctx, "")
		if err != nil {
			return err
		}
		if after == mark {
			after = ""
		} else if after == "" {
			after = "nothing"
		}
		return w.note(ctx, entry{kind: exit, found: after})
	})
}

func (w *worker) swapWitness(ctx context.Context, mark string) (before string, err error) {
	before, err = w.client.SetArgs(ctx, w.witness(), mark, redis.SetArgs{Get: true, KeepTTL: true}).Result()
	if errors.Is(err, redis.Nil) {
		err = nil // there was none
	}
	return before, err
}

// runJob does the job's work with a permit, counted by INCR and DECR.
func (w *worker) runJob(ctx context.Context, job, attempt int) error {
	return w.admitted(ctx, func(ctx context.Context) error {
		var saw *redis.IntCmd
		_, err := w.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			saw = tx.Incr(ctx, w.inside())
			return w.noteIn(ctx, tx, entry{kind: begin, job: job, attempt: attempt})
		})
		if err != nil {
			return err
		}
		interrupted := pause(ctx, jobTime/2+rand.N(jobTime))

		// Also when the job was interrupted: the permit is given back, and the count is to follow.
		ctx = context.WithoutCancel(ctx)
		_, err = w.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			tx.Decr(ctx, w.inside())
			return w.noteIn(ctx, tx, entry{kind: end, job: job, attempt: attempt, saw: saw.Val(), ran: interrupted == nil})
		})
		return errors.Join(interrupted, err)
	})
}

// awaitDeath keeps the lock until the parent has killed this process.
func (w *worker) awaitDeath(ctx context.Context, job int) error {
	if err := w.note(ctx, entry{kind: standing, job: job}); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// awaitFinish waits a while for the end of all work.
func (w *worker) awaitFinish(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, recheck)
	defer cancel()
	if err := w.finish.Await(short); err != nil && short.Err() == nil {
		return fmt.Errorf("await the finish: %w", err)
	}
	// An open latch is no reason to look at the ledger all the time, should the two disagree.
	return pause(ctx, 10*time.Millisecond)
}

func (w *worker) note(ctx context.Context, e entry) error { return w.noteIn(ctx, w.client, e) }

func (w *worker) noteIn(ctx context.Context, to redis.Cmdable, e entry) error {
	e.worker = w.Worker
	return w.record(ctx, to, e)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
