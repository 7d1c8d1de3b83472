package fleet

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
)

const (
	perWalk    = 200 // keys at a time
	costOfKey  = time.Microsecond
	shareOfAll = 20 // of the server's time the walk takes one part in so many
)

// walk looks at all keys of all masters for those that may be objects. With paced it leaves the server most
// of its time.
func (found candidates) walk(ctx context.Context, client redlatch.Client, paced bool) error {
	return everywhere(ctx, client, func(ctx context.Context, node sender) error {
		trip := time.Duration(0)
		if paced {
			var err error
			if trip, err = shortestTrip(ctx, node); err != nil {
				return err
			}
		}
		for cursor := uint64(0); ; {
			began := time.Now()
			names, next, err := scanKeys(ctx, node, cursor)
			if err != nil {
				return err
			}
			trips, err := found.sift(ctx, node, names)
			if err != nil {
				return err
			}
			if cursor = next; cursor == 0 {
				return nil
			}
			if paced {
				busy := max(time.Since(began)-time.Duration(trips+1)*trip, perWalk*costOfKey)
				if err := rest(ctx, (shareOfAll-1)*busy); err != nil {
					return err
				}
			}
		}
	})
}

// shortestTrip is how long a command takes that costs the server nothing. What a step of the walk takes
// beyond that is the server's time, or at least not less.
func shortestTrip(ctx context.Context, node sender) (trip time.Duration, err error) {
	for range 5 {
		pipe := node.Pipeline()
		pipe.Ping(ctx)
		began := time.Now()
		if err := exec(ctx, pipe); err != nil {
			return 0, err
		}
		if took := time.Since(began); trip == 0 || took < trip {
			trip = took
		}
	}
	return trip, nil
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func scanKeys(ctx context.Context, node sender, cursor uint64) (names []string, next uint64, err error) {
	pipe := node.Pipeline()
	scan := pipe.Scan(ctx, cursor, "", perWalk)
	if err := exec(ctx, pipe); err != nil {
		return nil, 0, err
	}
	names, next = scan.Val()
	return names, next, refused(scan.Err())
}

// sift adds those of some keys that may be objects: hashes that are locks, and what the names of keys beside
// counters tell. It answers in how many round trips.
func (found candidates) sift(ctx context.Context, node sender, names []string) (trips int, err error) {
	var open []*look
	for _, name := range names {
		if !found.fromName(name) {
			open = append(open, &look{key: name})
		}
	}
	err = ask(ctx, node, open, func(pipe redis.Pipeliner, l *look) { l.typ = pipe.Type(ctx, l.key) })
	if err != nil {
		return 0, err
	}
	var hashes []*look
	for _, l := range open {
		if l.typ.Val() == "hash" {
			hashes = append(hashes, l)
		}
	}
	if len(hashes) == 0 {
		return 1, nil
	}
	if err := lookAt(ctx, node, hashes); err != nil {
		return 0, err
	}
	for _, l := range hashes {
		switch l.shape {
		case owners:
			found.add(redlatch.KindLock, l.key, false, false)
		case sides:
			found.add(redlatch.KindReadWriteLock, l.key, false, false)
		case values:
			found.add(redlatch.KindGroupLock, l.key, false, false)
		}
	}
	return 4, nil
}

// beginnings are those of the names of keys that stand beside objects. A sure one has one name; else n and
// {n} have the same.
var beginnings = []struct {
	text string
	kind redlatch.Kind
	sure bool
}{
	{"redlatch_latch:", redlatch.KindLatch, true},
	{"redlatch_semaphore_row:", redlatch.KindSemaphore, true},
	{"redlatch_lanes:", redlatch.KindSemaphore, true},
	{"redlatch_rwlock_row:", redlatch.KindReadWriteLock, true},
	{"redlatch_lock_row:", redlatch.KindLock, true},
	{"redisson_lock_queue:", redlatch.KindFairLock, false},
	{"redisson_lock_timeout:", redlatch.KindFairLock, false},
}

// fromName adds what the name of a key tells, and answers whether the key itself need not be looked at.
func (found candidates) fromName(name string) bool {
	for _, b := range beginnings {
		tag, ok := strings.CutPrefix(name, b.text)
		switch {
		case !ok:
			continue
		case !b.sure:
			found.addTag(b.kind, tag)
			return true
		}
		if b.text == "redlatch_lanes:" {
			end := strings.LastIndexByte(tag, ':')
			tag = tag[:max(0, end)]
		}
		if own, braced := strings.CutPrefix(tag, ":"); braced {
			tag = own
		} else {
			tag = strings.TrimSuffix(strings.TrimPrefix(tag, "{"), "}")
		}
		if tag != "" {
			found.add(b.kind, tag, false, false)
		}
		return true
	}
	if tag, ok := strings.CutSuffix(name, ":timeout"); ok && strings.Contains(tag, "{") {
		found.addTag(redlatch.KindPermitSemaphore, tag) // whether it is one is looked at
	}
	return false
}
