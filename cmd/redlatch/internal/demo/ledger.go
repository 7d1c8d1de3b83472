package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A ledger says of every job whose it is. It is one value in Redis, read by GET and written by SET: two workers that
// change it at the same time lose one of the changes. Updates counts the changes that were not lost.
type ledger struct {
	Updates int   `json:"updates"`
	Jobs    []job `json:"jobs"` // job 1 is the first
}

type job struct {
	State   state `json:"state"`
	Worker  int   `json:"worker,omitempty"`  // the last to take it
	Attempt int   `json:"attempt,omitempty"` // how often it was taken
}

type state string

const (
	open  state = "open"
	owned state = "owned"
	done  state = "done"
)

func newLedger(jobs int) ledger {
	l := ledger{Jobs: make([]job, jobs)}
	for i := range l.Jobs {
		l.Jobs[i].State = open
	}
	return l
}

// take gives the next job to the worker: one of an absent worker before one that nobody had yet. The job is 0 when
// there is none to take, and over tells whether that will stay so.
//
// The worker itself takes a job only when it has none, so one that the ledger says it has is not being done by
// anybody. That happens when an update was lost.
func (l *ledger) take(worker int, present func(worker int) (bool, error)) (number int, over bool, err error) {
	next, over := 0, true
	asked := map[int]bool{worker: false}
	for i := range l.Jobs {
		j := &l.Jobs[i]
		if j.State != done {
			over = false
		}
		if j.State == open && next == 0 {
			next = i + 1
		}
		if j.State != owned {
			continue
		}
		here, known := asked[j.Worker]
		if !known {
			if here, err = present(j.Worker); err != nil {
				return 0, false, err
			}
			asked[j.Worker] = here
		}
		if !here {
			next = i + 1
			break
		}
	}
	if next != 0 {
		j := &l.Jobs[next-1]
		*j = job{State: owned, Worker: worker, Attempt: j.Attempt + 1}
		l.Updates++
	}
	return next, over, nil
}

// finish records a job as done, if it still is the worker's.
func (l *ledger) finish(number, worker, attempt int) bool {
	j := &l.Jobs[number-1]
	if j.State != owned || j.Worker != worker || j.Attempt != attempt {
		return false
	}
	j.State = done
	l.Updates++
	return true
}

func (n names) readLedger(ctx context.Context, from redis.Cmdable) (ledger, error) {
	text, err := from.Get(ctx, n.ledger()).Bytes()
	if err != nil {
		return ledger{}, fmt.Errorf("read the ledger: %w", err)
	}
	var l ledger
	if err := json.Unmarshal(text, &l); err != nil {
		return ledger{}, fmt.Errorf("the ledger is damaged: %w", err)
	}
	return l, nil
}

func (n names) writeLedger(ctx context.Context, to redis.Cmdable, l ledger) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return to.Set(ctx, n.ledger(), text, redis.KeepTTL).Err()
}
