package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts/entry"
	"github.com/redlatch/redlatch/internal/scripts/notice"
)

// An Answer is what came of asking an owner to give something back.
type Answer string

// The answers.
const (
	NotHeld  Answer = "not held"  // the owner did not hold it, so it was not asked
	GivenUp  Answer = "given up"  // the owner does not hold it any more
	HeldOn   Answer = "held on"   // its program has heard, and holds on
	NotHeard Answer = "not heard" // its program has not heard of it in this time
)

// An UnaskableError says that an owner cannot be asked, and why not. Nothing was done then, and nothing
// waited for.
type UnaskableError struct {
	Owner  string
	Client *Client // nil: the owner's client has no entry in the registry
	Detail string  // a clause: "its client has no entry in the registry"
}

// Error names the owner and has the Detail.
func (e *UnaskableError) Error() string {
	return fmt.Sprintf("redlatch: %q cannot be asked: %s", short(e.Owner), e.Detail)
}

// Ask asks the holder to give the object back, and waits for that, for the time of wait at most. It takes
// nothing: a holder that does not react loses nothing, and [Holder.Free] takes the object from it if that is
// wanted. The Holder is one of an Object of [Get] or [List].
//
// The program of the owner is told by an observer ([redlatch.EventAsked]) and by a line in its log; "redlatch
// run" ends its command. It finds out with its next report to the registry, so within a tenth more than its
// Client's Interval: 5.5 s where there are at most 5000 clients, and 1.1 s more for each 1000 of them beyond
// that, 132 s at most. A wait that is shorter may end before, and the program is not told then.
//
// An owner cannot be asked, and the error is an [*UnaskableError] at once, if its client has no entry in the
// registry (that is so for Redisson, where the registry is off, and for two seconds after a client has begun
// to hold), if the client does not look for requests, or if it is silent and so probably dead. Of a permit
// semaphore the eight oldest permits of each client can be asked for.
//
// The caller needs the rights that Free needs, and that to write to the keys redlatch_client*.
func (h Holder) Ask(ctx context.Context, by Notice, wait time.Duration) (Answer, error) {
	switch {
	case h.of == nil:
		return "", errs.Wrong("asking %q: take the holder from an Object that Get or List has made", h.Owner)
	case by.Who == "" || by.Why == "":
		return "", errs.Wrong("asking for %q: say who asks for it and why", h.of.name)
	case wait <= 0:
		return "", errs.Wrong("asking for %q: give a time to wait, not %v", h.of.name, wait)
	}
	owner, of := h.Owner, h.of
	object, err := of.get(ctx) // it may have been given back since
	if err != nil {
		return "", err
	}
	found := object.Holder(owner)
	if found == nil {
		return NotHeld, nil
	}
	if h = *found; unaskable(h) != "" {
		return "", &UnaskableError{owner, h.Client, unaskable(h)}
	}
	a := &asking{source: *of, object: object, owner: owner}
	a.names = entry.NamesOf(a.options.prefix, h.ClientID)
	answer, err := a.ask(ctx, by, wait)
	switch unaskable := new(UnaskableError); {
	case errors.As(err, &unaskable):
		return "", unaskable
	case err != nil:
		return "", fmt.Errorf("redlatch: asking %s for %s %q: %w", owner, object.Kind.Noun(), of.name, err)
	}
	return answer, nil
}

// unaskable is why a holder cannot be asked, empty if it can.
func unaskable(h Holder) string {
	switch c := h.Client; {
	case c == nil:
		return "its client has no entry in the registry, as one of Redisson, one with the registry off, or one that " +
			"has just begun to hold"
	case h.Kept:
		return "its program has given it back already, and it is kept by WithAtLeast for what is left of its lease at most"
	case c.Ended:
		return "its program has ended, and the object is kept for what is left of its lease"
	case !c.Askable:
		return "its client does not look for requests; only this library's do"
	case c.Silent():
		return fmt.Sprintf("its client was not seen for %v and is probably dead", c.LastSeen.Round(time.Second))
	}
	return ""
}

// An asking is one use of Ask.
type asking struct {
	source
	object *Object
	owner  string
	names  entry.Names // of the owner's client
}

const (
	lookEvery   = 200 * time.Millisecond
	retractOver = time.Second // how long a request is tried to be taken back
)

func (a *asking) ask(ctx context.Context, by Notice, wait time.Duration) (Answer, error) {
	ends := time.Now().Add(wait)
	key := a.object.Key
	// The request comes first, for the owner's client may find the word of it at once.
	made, err := send(ctx, a, notice.Ask(key, a.owner, line(by.Who), line(by.Why)))
	if err != nil {
		return "", fmt.Errorf("the request could not be left: %w", without(err, keys.Forced(key)))
	}
	word, err := send(ctx, a, entry.Ask(a.names, a.owner, wait))
	defer a.retract(ctx, made, word.Until)
	switch {
	case err != nil:
		return "", fmt.Errorf("the owner's client could not be told of the request: %w",
			without(err, a.names.Entry+" "+a.names.Asked))
	case word.Crowded:
		return "", errors.New("too many others ask the owner's client at the moment")
	case word.Foreign:
		return "", &UnaskableError{Owner: a.owner, Detail: fmt.Sprintf("the key %q, where its client would find the "+
			"request, is of another type", a.names.Asked)}
	case word.Until == 0:
		return "", &UnaskableError{Owner: a.owner, Detail: "the entry of its client in the registry has just ended"}
	}
	for {
		held, err := a.held(ctx)
		switch {
		case err != nil:
			return "", err
		case !held:
			return GivenUp, nil
		case time.Until(ends) <= 0:
			return a.heard(ctx, made)
		}
		if err := rest(ctx, min(lookEvery, time.Until(ends))); err != nil {
			return "", err
		}
	}
}

// without adds to an error which keys the user has to be allowed to use.
func without(err error, keys string) error {
	if !outcome.Forbidden(err) {
		return err
	}
	return fmt.Errorf("the user needs the right to write to %s, and to the commands of a program that uses locks: %w",
		keys, err)
}

// held asks Redis whether the owner still holds.
func (a *asking) held(ctx context.Context) (bool, error) {
	l := &look{key: a.object.Key}
	if a.object.Kind == redlatch.KindGroupLock {
		if err := lookAt(ctx, a.client, []*look{l}); err != nil {
			return false, err
		}
	}
	clocks, err := readClocks(ctx, a.client)
	if err != nil {
		return false, err
	}
	info, err := inspect(ctx, a.client, a.object.Kind, a.name, l, clocks.at(ctx, a.object.Key), a.options.primitives)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(info.Holders, func(h redlatch.Holder) bool { return h.Owner == a.owner }), nil
}

func (a *asking) heard(ctx context.Context, made time.Time) (Answer, error) {
	heard, err := send(ctx, a, notice.Heard(a.object.Key, a.owner, made))
	if err != nil || !heard {
		return NotHeard, err
	}
	return HeldOn, nil
}

// retract takes the request back, whatever came of it. If that fails it is forgotten after an hour, and no
// client looks for it any more when the wait would have been over.
func (a *asking) retract(ctx context.Context, made time.Time, until int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retractOver)
	defer cancel()
	if until != 0 {
		_, _ = send(ctx, a, entry.Unask(a.names, a.owner, until))
	}
	_, _ = send(ctx, a, notice.Close(a.object.Key, a.owner, made))
}
