package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rwlock"
)

// A Notice tells a holder who takes its lock away, or asks for it, and why. When a lock is taken away, Redis
// keeps the two texts for an hour, and a holder that uses redlatch finds them in its error
// ([redlatch.LossError]).
type Notice struct {
	Who string // "ada@ops-1"; it must not be empty
	Why string // "the import hangs"; it must not be empty
}

// Free takes the object from the holder's owner, and reports whether that still held it. The Holder is one of
// an Object of [Get] or [List]. Other owners keep what they hold, also an owner that has got the object since
// it was looked at. ForceUnlock takes it from all of them. Waiters are woken. Of a lock all holds of the
// owner end; of a permit semaphore the owner is the id of one permit.
//
// A holder that lives does not stop at once: it learns of the loss at its next renewal, at the latest a third
// of its lease and a second later. Until then two may believe that they hold the lock. So free what a dead or
// stuck process holds; a token of a fenced lock protects from one that wakes up again.
//
// Of a group lock the owner loses all values that it has, together. Owners of other values of the group keep
// theirs.
//
// The permits of a plain semaphore and the count of a latch have no owner, and so no Holder.
func (h Holder) Free(ctx context.Context, by Notice) (freed bool, err error) {
	switch {
	case h.of == nil:
		return false, errs.Wrong("freeing from %q: take the holder from an Object that Get or List has made", h.Owner)
	case by.Who == "" || by.Why == "":
		return false, errs.Wrong("freeing %q: say who frees it and why", h.of.name)
	}
	client, name, set := h.of.client, h.of.name, h.of.options.primitives
	object, err := h.of.get(ctx) // a re-entry may have been added since, or given back
	if err != nil {
		return false, err
	}
	for _, now := range object.Holders {
		if now.Owner != h.Owner {
			continue
		}
		ok, err := free(ctx, client, object, name, now, by, set)
		if err != nil {
			return freed, fmt.Errorf("redlatch: freeing %s %q from %s: %w", object.Kind.Noun(), name, h.Owner, err)
		}
		freed = freed || ok
		if object.Kind == redlatch.KindGroupLock { // which has a Holder for each value, and all of them are free now
			break
		}
	}
	return freed, nil
}

func free(ctx context.Context, client redlatch.Client, object *Object, name string, h Holder, by Notice,
	set []redlatch.Option) (bool, error) {
	var lock redlatch.Locker
	switch object.Kind {
	case redlatch.KindReadWriteLock:
		both := rwlock.New(client, name, set...)
		if lock = both.Reader(); h.Side == "write" {
			lock = both.Writer()
		}
	case redlatch.KindGroupLock:
		lock = groupOf(client, object, name, h.Owner, set)
	case redlatch.KindPermitSemaphore:
		return freePermit(ctx, client, object, name, h.Owner, by, set)
	default:
		row := rowFor(object.Kind)
		if row.shape != owners {
			return false, errs.Wrong("a %s has no owners", object.Kind.Noun())
		}
		lock = row.open(client, name, set).(redlatch.Locker)
	}
	return locking.ForceUnlockFrom(ctx, locking.Of(lock), h.Owner, h.Holds, line(by.Who), line(by.Why))
}

// freePermit is [baselock.Base.ForceUnlockFrom] for a permit.
func freePermit(ctx context.Context, client redlatch.Client, object *Object, name, id string, by Notice,
	set []redlatch.Option) (bool, error) {
	a := &asking{source: source{client: client, options: options{primitives: set}}}
	if _, err := send(ctx, a, notice.Leave(object.Key, id, line(by.Who), line(by.Why))); err != nil {
		return false, fmt.Errorf("nothing was freed, because the notice for the owner could not be left: %w", err)
	}
	freed, err := permitsemaphore.New(client, name, set...).TryRelease(ctx, id)
	if freed || errors.Is(err, errs.Uncertain) {
		return freed, err
	}
	if _, kept := send(context.WithoutCancel(ctx), a, notice.Withdraw(object.Key, id)); kept != nil && err == nil {
		err = fmt.Errorf("the permit was not held, but a notice says for an hour that it was freed: %w", kept)
	}
	return false, err
}

// line is a text in one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// groupOf is a group lock of all values that an owner has. What these are called only their programs know, so
// they are given as Redis has them.
func groupOf(client redlatch.Client, object *Object, name, owner string, set []redlatch.Option) *multilock.Group {
	var values []string
	for _, h := range object.Holders {
		if h.Owner == owner {
			values = append(values, h.Value)
		}
	}
	hashed := rootapi.Option[redlatch.Option](func(s *settings.Settings) { s.Hashed = true })
	return multilock.NewGroup(client, name, values, append(slices.Clone(set), hashed)...)
}
