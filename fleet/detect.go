package fleet

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
)

// companions are keys beside the key of an object that tell its kind, the surest first.
var companions = []struct {
	kind Kind
	key  func(name string) string
}{
	{PermitSemaphore, keys.PermitTimeouts},
	{Latch, keys.LatchRecord},
	{FairLock, keys.FairQueue},
	{FencedLock, keys.FencingToken},
	{ReadWriteLock, keys.ReadWriteRow},
	{Semaphore, keys.SemaphoreRow},
}

// channels are the channels whose listeners tell the kind of a number.
var channels = []struct {
	kind    Kind
	channel func(name string) string
}{
	{Latch, keys.LatchChannel},
	{Semaphore, keys.SemaphoreChannel},
}

// kindOf is the kind of the object at a key that was asked for as want.
func kindOf(ctx context.Context, client redlatch.Client, l *look, want Kind, known *entries) (Kind, error) {
	wrong := &KindError{Key: l.key, Want: want, Found: l.found}
	if want != Detect && l.shape != want.shape() && l.shape != absent {
		return Detect, wrong
	}
	switch {
	case l.shape == sides:
		return ReadWriteLock, nil
	case l.shape == values:
		return GroupLock, nil
	case l.shape == foreign, want != Detect && l.shape != number:
		return want, orNil(wrong, l.shape == foreign)
	}
	beside, err := beside(ctx, client, l)
	switch {
	case err != nil:
		return Detect, err
	case want == Detect:
		for _, evidence := range [][]Kind{known.kinds(l), beside} {
			if len(evidence) > 0 {
				return evidence[0], nil
			}
		}
	case beside != nil && beside[0] == PermitSemaphore && want != PermitSemaphore:
		wrong.Found = "a permit semaphore"
		return Detect, wrong
	}
	if want != Detect || l.shape == absent {
		return want, nil
	}
	if l.shape == owners {
		return Lock, nil
	}
	wrong.Found = "a number, which may be a semaphore, a latch or another program's; say which kind it is"
	return Detect, wrong
}

func orNil(err *KindError, is bool) error {
	if is {
		return err
	}
	return nil
}

// beside are the kinds that the keys and channels beside a key tell, among those that the key can be.
func beside(ctx context.Context, client redlatch.Client, l *look) (kinds []Kind, err error) {
	exists := make([]*redis.IntCmd, len(companions))
	pipe := client.Pipeline()
	for i, c := range companions {
		exists[i] = pipe.Exists(ctx, c.key(l.key))
	}
	if err := exec(ctx, pipe); err != nil {
		return nil, err
	}
	for i, c := range companions {
		if exists[i].Val() > 0 && l.may(c.kind) {
			kinds = append(kinds, c.kind)
		}
	}
	if l.shape != number || len(kinds) > 0 {
		return kinds, nil
	}
	names := make([]string, len(channels))
	for i, c := range channels {
		names[i] = c.channel(l.key)
	}
	counts, err := listeners(ctx, client, names)
	for i, c := range channels {
		if counts[names[i]] > 0 {
			kinds = append(kinds, c.kind)
		}
	}
	return kinds, err
}

// may tells whether the key can be an object of a kind.
func (l *look) may(k Kind) bool { return l.shape == absent || l.shape == k.shape() }

// ranked are kinds that share a form, those first that more than one entry has to be wrong about.
var ranked = []Kind{ReadWriteLock, GroupLock, FencedLock, FairLock, SpinLock, Lock, PermitSemaphore, Semaphore, Latch}

// kinds are the kinds that entries say an object has, among those that its key can be.
func (e *entries) kinds(l *look) (kinds []Kind) {
	said := map[Kind]bool{}
	for _, c := range e.clients {
		for _, u := range c.Uses {
			if u.Key == l.key {
				said[u.Kind.whole()] = true
			}
		}
	}
	for _, kind := range ranked {
		if said[kind] && l.may(kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
