package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A kind is what an entry of the journal says.
type kind string

// What workers write.
const (
	ready    kind = "ready"    // waits for the start latch
	started  kind = "started"  // the start latch opened
	enter    kind = "enter"    // has the lock; found is what stood in the witness key
	taken    kind = "taken"    // wrote the ledger: the job is the worker's, for the attempt-th time
	standing kind = "standing" // holds the lock until it is killed
	finished kind = "finished" // wrote the ledger: the job is done
	disowned kind = "disowned" // has run a job that the ledger does not say is its own any more
	exit     kind = "exit"     // about to release the lock; found is what stood in the witness key
	begin    kind = "begin"    // has a permit; written together with INCR
	end      kind = "end"      // about to give the permit back; written with DECR; saw is what INCR answered
	lost     kind = "lost"     // was told that a lock is lost, and stopped
	bye      kind = "bye"      // found all jobs done
)

// What the parent writes.
const (
	prepared kind = "prepared" // all keys are there
	opening  kind = "opening"  // right before the start latch opens
	killing  kind = "killing"  // right before the signal
	died     kind = "died"     // the worker's process ended without bye
	returned kind = "returned" // gave back the permit of a dead worker; written together with DECR
)

// An entry is one thing that happened. Redis gives it its place and its time.
type entry struct {
	kind    kind
	worker  int
	job     int
	attempt int
	saw     int64
	ran     bool   // of end: the job ran to its end
	found   string // in the witness key

	id string // in the stream
	ms int64  // server time
}

// record appends e within a pipeline or by itself.
func (n names) record(ctx context.Context, to redis.Cmdable, e entry) error {
	values := []string{"kind", string(e.kind), "worker", strconv.Itoa(e.worker)}
	add := func(name, value string, given bool) {
		if given {
			values = append(values, name, value)
		}
	}
	add("job", strconv.Itoa(e.job), e.job != 0)
	add("attempt", strconv.Itoa(e.attempt), e.attempt != 0)
	add("saw", strconv.FormatInt(e.saw, 10), e.saw != 0)
	add("ran", "1", e.ran)
	add("found", e.found, e.found != "")
	return to.XAdd(ctx, &redis.XAddArgs{Stream: n.journal(), Values: values}).Err()
}

// since reads what was written after the entry with that id; "0" is before the first.
func (n names) since(ctx context.Context, from redis.Cmdable, id string) ([]entry, error) {
	var all []entry
	for {
		streams, err := from.XRead(ctx, &redis.XReadArgs{
			Streams: []string{n.journal(), id}, Count: 1000, Block: -1, // negative: do not block
		}).Result()
		if errors.Is(err, redis.Nil) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for _, message := range streams[0].Messages {
			e, err := parse(message)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
			id = e.id
		}
	}
}

func parse(message redis.XMessage) (entry, error) {
	e := entry{id: message.ID}
	text := func(name string) string {
		s, _ := message.Values[name].(string) // absent is empty, and empty is what was left out
		return s
	}
	var firstErr error
	number := func(s string) int64 {
		if s == "" {
			return 0
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil && firstErr == nil {
			firstErr = fmt.Errorf("the journal's entry %s is damaged: %w", message.ID, err)
		}
		return v
	}
	ms, _, _ := strings.Cut(message.ID, "-")
	e.ms = number(ms)
	e.kind = kind(text("kind"))
	e.worker = int(number(text("worker")))
	e.job = int(number(text("job")))
	e.attempt = int(number(text("attempt")))
	e.saw = number(text("saw"))
	e.ran = text("ran") != ""
	e.found = text("found")
	return e, firstErr
}
