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

// A Guard protects data in the same Redis from those who no longer hold the lock. It remembers, beside the data, the
// greatest token that it has seen, and makes a write only when the write's token is not smaller: check and write are
// one step, so a newer holder cannot come in between. A refused write matches ErrStale.
//
// That is sound while the lock's counter of tokens survives, whatever happens to the lock itself: suspended processes,
// expiry, deletion, force. The package comment says what happens when the counter is lost. Where that must do no harm, use
// [WithClockTokens] for the lock and By for the guard.
//
// It protects only against writes that go through it: all writers of the data must use a Guard of the same name, and
// tokens of one lock, which usually has that name too. A token may be passed to other processes and be used there; the
// guard does not ask who holds the lock.
//
// Every write takes effect once or not at all, however often it has to be sent. When ctx ends before the outcome is
// known the error matches ErrUncertain, and the write is settled in the background. Until the server has answered to that,
// the write may still be made, even after later writes with the same token. After that it is never made.
//
// The user of the client needs the rights to SET, HSET and PEXPIRE, beside that to the command itself. The script notes the token
// behind the write, and only then meets a right that is missing: the error matches ErrUnavailable, and the write was made.
type Guard struct {
	_ [0]sync.Mutex // so that go vet finds copies

	counter *counter.Counter
	keys    fencedlock.Guarded
	owner   string // see By
}

// NewGuard makes a guard. It does no I/O. On a cluster the guarded data must share the hash slot of the guard: give the
// keys its name in braces, as in {orders:42}:state. It takes only options that every primitive takes.
//
// The greatest token is kept in redlatch_guard:{name}, and the owner that first showed it in redlatch_guard_owner:{name}. The
// keys have no TTL: like the lock's own counter they must outlive every holder.
func NewGuard(client redlatch.Client, name string, opts ...redlatch.Option) *Guard {
	c := counter.New(client, name, redlatch.KindGuard, nil, 0, opts)
	return &Guard{counter: c, keys: fencedlock.Guarded{Seen: keys.Guard(c.Key), Owner: keys.GuardOwner(c.Key)}}
}

// By returns the same guard for writes of one owner: the Hold.Owner of the hold that has the token. The guard remembers the
// first owner that shows it a token, and refuses the same token from another owner. Two owners have the same token only if the
// lock's counter was lost in between; see the package comment. A write without By names no owner, and is not refused for it.
func (g *Guard) By(owner string) *Guard {
	return &Guard{counter: g.counter, keys: g.keys, owner: owner}
}

// Name returns the name that the guard was made with.
func (g *Guard) Name() string { return g.counter.Name }

// Set writes value to key if token is not stale. The value is of a type that [Guard.Do] takes.
func (g *Guard) Set(ctx context.Context, token int64, key string, value any) error {
	return g.Do(ctx, token, "set", key, value)
}

// Do executes one command that works on key, if token is not stale: Do(ctx, token, "hset", key, "state", "paid"). The
// command takes the key as its first argument and no other keys. The arguments are of the types that go-redis sends:
// strings, numbers, []byte, times and what implements encoding.BinaryMarshaler, and there are 7000 at most. The command's
// reply is not reported; its error is, and then nothing was written.
func (g *Guard) Do(ctx context.Context, token int64, command, key string, args ...any) error {
	if err := g.check(token); err != nil {
		return err
	}
	switch session := g.counter.Session; {
	case command == "" || key == "":
		return errs.Wrong("guard %q: a guarded write has a command and a key", g.Name())
	case len(args) > mostArguments:
		return errs.Wrong("guard %q: a guarded command has %d arguments after its key, and may have %d; make several writes of it",
			g.Name(), len(args), mostArguments)
	case session.Shard(key) != session.Shard(g.counter.Key):
		return errs.Wrong("guard %q: the key %q lies in another slot of the cluster, where it cannot be guarded; "+
			"give it the hash tag of the guard, as in %s:%s", g.Name(), key, keys.Tag(g.counter.Key), key)
	}
	args, err := g.settled(args)
	if err != nil {
		return err
	}
	above, err := counter.Change(ctx, g.counter, func(_ scripts.Wake, call lane.Call) scripts.Command[int64] {
		return fencedlock.Write(g.keys, call, token, g.owner, command, key, args)
	})
	return g.judge(token, above, err)
}

// mostArguments is how many arguments a script can give to a command, less some: Lua puts them on a stack of 8000.
const mostArguments = 7000

// Claim makes everything older than token stale from now on. A holder that reads the data before it writes claims
// first: without that, a former holder could still write between its reading and its writing.
func (g *Guard) Claim(ctx context.Context, token int64) error {
	if err := g.check(token); err != nil {
		return err
	}
	above, err := counter.Ask(ctx, g.counter, fencedlock.Claim(g.keys, token, g.owner)) // harmless, however often and late
	return g.judge(token, above, err)
}

// Greatest returns the greatest token that the guard has seen, 0 before the first.
func (g *Guard) Greatest(ctx context.Context) (int64, error) {
	return counter.Ask(ctx, g.counter, fencedlock.Last(g.keys.Seen))
}

func (g *Guard) check(token int64) error {
	if token < 1 {
		return errs.Wrong("guard %q: %d is no fencing token; take Hold.Token of a fenced lock", g.Name(), token)
	}
	return nil
}

// judge is the error of an operation that found the greatest token to be above its own, or failed.
func (g *Guard) judge(token, above int64, err error) error {
	switch {
	case err != nil || above == 0:
		return err
	case above == token:
		return fmt.Errorf("%w: guard %q has seen token %d from another owner; its counter was lost, and it was issued twice", errs.Stale,
			g.Name(), token)
	default:
		return fmt.Errorf("%w: guard %q has seen token %d, which is newer than %d; the lock was lost", errs.Stale,
			g.Name(), above, token)
	}
}
