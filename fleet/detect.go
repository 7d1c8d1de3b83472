package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
)

// companions are keys beside the key of an object that tell its kind, the surest first.
var companions = []struct {
	kind redlatch.Kind
	key  func(name string) string
	typ  string
}{
	{redlatch.KindPermitSemaphore, keys.PermitTimeouts, "zset"},
	{redlatch.KindLatch, keys.LatchRecord, "hash"},
	{redlatch.KindFairLock, keys.FairQueue, "list"},
	{redlatch.KindFencedLock, keys.FencingToken, "string"},
	{redlatch.KindReadWriteLock, keys.ReadWriteRow, "zset"},
	{redlatch.KindSemaphore, keys.SemaphoreRow, "zset"},
}

// channels are the channels whose listeners tell the kind of a number.
var channels = []struct {
	kind    redlatch.Kind
	channel func(name string) string
}{
	{redlatch.KindLatch, keys.LatchChannel},
	{redlatch.KindSemaphore, keys.SemaphoreChannel},
}

// kindOf is the kind of the object at a key that was asked for as want.
func kindOf(ctx context.Context, client redlatch.Client, l *look, want redlatch.Kind,
	known *entries) (redlatch.Kind, error) {
	wrong := &KindError{Key: l.key, Want: want, Found: l.found}
	if want != Detect && l.shape != shapeFor(want) && l.shape != absent {
		return Detect, wrong
	}
	switch {
	case l.shape == sides:
		return redlatch.KindReadWriteLock, nil
	case l.shape == values:
		return redlatch.KindGroupLock, nil
	case l.shape == foreign, want != Detect && l.shape != number:
		return want, orNil(wrong, l.shape == foreign)
	}
	if err := lookBeside(ctx, client, []*look{l}); err != nil {
		return Detect, err
	}
	if want != Detect && len(l.beside) > 0 && l.beside[0] == redlatch.KindPermitSemaphore &&
		want != redlatch.KindPermitSemaphore {
		wrong.Found = "a permit semaphore"
		return Detect, wrong
	}
	if kind := l.kind(known); want == Detect && kind == Detect && l.shape == number {
		wrong.Found, wrong.Ambiguous = "a number, which may be a semaphore, a latch or another program's", true
		if l.ttl > 0 {
			wrong.Found += fmt.Sprintf(", such as a lock by SET NX: it ends in %v", max(l.ttl.Round(time.Second), time.Second))
		}
		return Detect, wrong
	} else if want == Detect {
		return kind, nil
	}
	return want, nil
}

// kind is that of what was looked at and is none of another program's, as far as it can be told.
func (l *look) kind(known *entries) redlatch.Kind {
	switch l.shape {
	case sides:
		return redlatch.KindReadWriteLock
	case values:
		return redlatch.KindGroupLock
	}
	for _, evidence := range [][]redlatch.Kind{known.kinds(l), l.beside} {
		if len(evidence) > 0 {
			return evidence[0]
		}
	}
	if l.shape == owners {
		return redlatch.KindLock
	}
	return Detect
}

func orNil(err *KindError, is bool) error {
	if is {
		return err
	}
	return nil
}

// lookBeside finds out which kinds the keys and channels beside each key tell, among those that it can be.
func lookBeside(ctx context.Context, client redlatch.Client, looks []*look) error {
	types := map[*look][]*redis.StatusCmd{}
	err := ask(ctx, client, looks, func(pipe redis.Pipeliner, l *look) {
		for _, c := range companions {
			var cmd *redis.StatusCmd
			if l.may(c.kind) {
				cmd = pipe.Type(ctx, c.key(l.key))
			}
			types[l] = append(types[l], cmd)
		}
	})
	if err != nil {
		return err
	}
	var names []string
	for _, l := range looks {
		for i, c := range companions {
			if cmd := types[l][i]; cmd != nil && cmd.Val() == c.typ {
				l.beside = append(l.beside, c.kind)
			}
		}
		for _, c := range channels {
			if l.shape == number {
				names = append(names, c.channel(l.key))
			}
		}
	}
	counts, err := listeners(ctx, client, names)
	if err != nil {
		return err
	}
	for _, l := range looks {
		for _, c := range channels {
			if counts[c.channel(l.key)] > 0 && l.shape == number {
				l.beside = append(l.beside, c.kind)
			}
		}
	}
	return nil
}

// may tells whether the key can be an object of a kind.
func (l *look) may(k redlatch.Kind) bool { return l.shape == absent || l.shape == shapeFor(k) }

// ranked are the kinds in the order of how much their evidence tells, where there is evidence of several that
// share a form.
var ranked = []redlatch.Kind{redlatch.KindReadWriteLock, redlatch.KindGroupLock, redlatch.KindFencedLock,
	redlatch.KindFairLock, redlatch.KindSpinLock, redlatch.KindLock, redlatch.KindPermitSemaphore, redlatch.KindLatch, redlatch.KindSemaphore}

// kinds are the kinds that entries say an object has, among those that its key can be.
func (e *entries) kinds(l *look) (kinds []redlatch.Kind) {
	said := map[redlatch.Kind]bool{}
	for _, u := range e.uses[l.key] {
		said[whole(u.Kind)] = true
	}
	for _, kind := range ranked {
		if said[kind] && l.may(kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
