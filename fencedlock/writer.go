package fencedlock

import (
	"context"
	"fmt"
	"sync"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// A Writer makes the writes of one hold through a guard; see [Guard.For]. Each write has the token that the
// hold has at that moment, so a re-entry in between does not make the writer stale. It keeps the hold alive,
// and is safe for concurrent use.
type Writer struct {
	_ [0]sync.Mutex // so that go vet finds copies

	guard *Guard
	hold  redlatch.Fenced
}

// made is the guard of a Writer that one has made.
func (w *Writer) made() *Guard {
	return errs.Made(w.guard, "fencedlock.Writer is used without For; make it by the For of a guard")
}

// Set writes value to key if the hold is not stale. The value is of a type that [Writer.Do] takes.
func (w *Writer) Set(ctx context.Context, key string, value any) error {
	return w.Do(ctx, "set", key, value)
}

// Do executes one command that works on key, if the hold is not stale: Do(ctx, "hset", key, "state", "paid").
// The command takes the key as its first argument and no other keys. The arguments are of the types that
// go-redis sends: strings, numbers, []byte, times and what implements encoding.BinaryMarshaler, and there are
// 7000 at most. The command's reply is not reported; its error is, and then nothing was written.
func (w *Writer) Do(ctx context.Context, command, key string, args ...any) error {
	g, token := w.made(), w.hold.Token()
	if err := w.check(token); err != nil {
		return err
	}
	switch session := g.made().Session; {
	case command == "" || key == "":
		return errs.Wrong("guard %q: a guarded write has a command and a key", g.Name())
	case len(args) > mostArguments:
		return errs.Wrong("guard %q: a guarded command has %d arguments after its key, and may have %d; make several "+
			"writes of it",
			g.Name(), len(args), mostArguments)
	case session.Shard(key) != session.Shard(g.made().Key):
		return errs.Wrong("guard %q: the key %q lies in another slot of the cluster, where it cannot be guarded; "+
			"give it the hash tag of the guard, as in %s:%s", g.Name(), key, keys.Tag(g.made().Key), key)
	}
	args, err := g.settled(args)
	if err != nil {
		return err
	}
	owner := w.hold.Owner()
	above, err := counter.Change(ctx, g.made(), func(_ scripts.Wake, call lane.Call) scripts.Command[int64] {
		return fencedlock.Write(g.keys, call, token, owner, command, key, args)
	})
	return w.judge(token, above, err)
}

// mostArguments is how many arguments a script can give to a command, less some: Lua puts them on a stack of
// 8000.
const mostArguments = 7000

// Claim makes every older hold stale from now on. A holder that reads the data before it writes claims
// first: without that, a former holder could still write between its reading and its writing.
func (w *Writer) Claim(ctx context.Context) error {
	g, token := w.made(), w.hold.Token()
	if err := w.check(token); err != nil {
		return err
	}
	// harmless, however often and late
	above, err := counter.Query(ctx, g.made(), fencedlock.Claim(g.keys, token, w.hold.Owner()))
	return w.judge(token, above, err)
}

func (w *Writer) check(token int64) error {
	if token < 1 {
		return errs.Wrong("guard %q: the hold of %q has no fencing token; take the lock by package fencedlock",
			w.guard.Name(), w.hold.Name())
	}
	return nil
}

// judge is the error of an operation that found the greatest token to be above its own, or failed.
func (w *Writer) judge(token, above int64, err error) error {
	switch {
	case err != nil || above == 0:
		return err
	case above == token:
		return fmt.Errorf("%w: guard %q has seen token %d of %q from another owner; its counter was lost, and it was "+
			"issued twice", errs.Stale,
			w.guard.Name(), token, w.hold.Name())
	default:
		return fmt.Errorf("%w: guard %q has seen token %d, which is newer than %d of %q; the lock was lost", errs.Stale,
			w.guard.Name(), above, token, w.hold.Name())
	}
}
