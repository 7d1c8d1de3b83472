package baselock

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Base is one lock of one client.
type Base struct {
	Name    string
	Key     string
	Session *session.Session
	Kind    *Kind

	// Inspector is asked who holds the lock, for a call that waits for long; nil: the base is.
	Inspector redlatch.Inspector

	Channel  string // where releases are announced; empty where they are not
	tokens   string // the key of the counter of fencing tokens; empty where there is none
	Row      string // of the processes that wait; empty where there is none
	RowKeys  []string
	known    atomic.Pointer[scripts.Known] // nil before the first release to the process queue
	Line     cohort.Key
	Defaults *settings.Settings
	Invalid  error // what is wrong with the name or the options of New; every call reports it
}

// New makes the base of a lock. It does no I/O.
func New(client redlatch.Client, name string, kind *Kind, opts []redlatch.Option) *Base {
	set := rootapi.For(opts)
	b := &Base{Name: name, Session: session.Of(client, set), Kind: kind, Defaults: set}
	b.Key, b.Invalid = b.Session.KeyOf(name, set)
	if err := b.check(set); err != nil {
		b.Invalid = err
	}
	b.Line = cohort.KeyFor(b.Key, cmp.Or(kind.Side.Cohort, string(kind.Label)))
	if kind.Channel != nil {
		b.Channel = kind.Channel(b.Key)
	}
	if kind.Tokens != nil {
		b.tokens = kind.Tokens.Key(b.Key)
	}
	if kind.Queue != nil {
		b.RowKeys = kind.Queue.Keys(b.Key)
		b.Row = b.RowKeys[0]
	}
	return b
}

// Refuse has every call report err: what the lock was made with makes no sense.
func (b *Base) Refuse(err error) { b.Invalid = err }

// Resolve adds the options of one call.
func (b *Base) Resolve(opts []redlatch.Option, try bool) (*settings.Settings, error) {
	if b.Invalid != nil {
		return nil, b.Invalid
	}
	if len(opts) == 0 {
		return b.Defaults, nil
	}
	set := rootapi.Apply(b.Defaults.ForCall(), opts)
	if err := b.check(&set); err != nil {
		return nil, err
	}
	if try && set.Given(settings.Wait) {
		return nil, errs.Wrong("TryLock does not wait, so WithWait does not apply; use Lock with WithWait")
	}
	return &set, nil
}

func (b *Base) check(set *settings.Settings) error {
	if err := set.Check("a "+b.Kind.Label.Noun(), b.Kind.Takes); err != nil {
		return err
	}
	if err := checkAtLeast(set); err != nil {
		return err
	}
	b.giveSigns(set)
	return b.checkReplicas(set)
}

// checkReplicas refuses a timeout that the client's read timeout would cut short: the outcome would be
// unknown each time.
func (b *Base) checkReplicas(set *settings.Settings) error {
	if read := b.Session.Dispatch.ReadTimeout(); set.Replicas > 0 && read > 0 && set.ReplicaTimeout >= read {
		return errs.Wrong("WithReplicas(%d, %v): the timeout must be shorter than the client's read timeout of %v; "+
			"shorten the one or lengthen the other", set.Replicas, set.ReplicaTimeout, read)
	}
	return nil
}

// Ready finds out by which command releases are announced, which a cluster has to be asked once. Every
// acquisition begins with it, so whatever follows knows.
func (b *Base) Ready(ctx context.Context, outage time.Duration) error {
	if b.Channel == "" {
		return nil
	}
	_, err := b.Session.PublishFor(ctx, outage)
	return err
}

// Wake is the message that a release sends.
func (b *Base) Wake() scripts.Wake {
	if b.Channel == "" {
		return scripts.Wake{}
	}
	wake := scripts.Wake{Publish: b.Session.Publishes(), Channel: b.Channel}
	if b.Orders() && b.Session.KnowsListeners() {
		wake.Row = b.Row
	}
	return wake
}

// Orders tells whether the process of a holder stands behind the others when it releases; see [Queue].
func (b *Base) Orders() bool { return b.Kind.Queue != nil && b.Kind.Queue.Orders }

// Common are the texts that all releases to the process queue have in common.
func (b *Base) Common() scripts.Known {
	if known := b.known.Load(); known != nil {
		return *known
	}
	known := scripts.Know(append([]string{b.Key, b.Channel, b.tokens}, b.RowKeys...)...)
	b.known.Store(&known)
	return known
}

// Background is a context for what no call waits for.
func (b *Base) Background(set *settings.Settings) context.Context {
	return raise.Background(context.Background(), b.log(set))
}

// log is the logger of set, with the lock's name.
func (b *Base) log(set *settings.Settings) *slog.Logger {
	return session.Logger(set.Logger).With("lock.name", b.Name, "lock.primitive", b.Kind.Label)
}

// Broken is an error of the server or the network, or of ctx, with the lock's name.
func (b *Base) Broken(err error) error {
	return fmt.Errorf("redlatch: %s %q: %w", b.Kind.Label.Noun(), b.Name, outcome.Advise(b.Session.Dialing(err)))
}

// PassLease is for how long the lock is passed. The watchdog renews it after a third. It is short because it
// may be passed to a process that has died without the server's notice, and long enough for a server that
// fails over.
const PassLease = 10 * time.Second

// Patience is how long Redis takes a process in a queue to be there after its last question. The head of a
// local queue asks once in a poll interval, and a little later on a busy machine. A program may have set an
// interval of years: then the patience is a day.
func Patience(set *settings.Settings) time.Duration { return 2 * min(set.Poll, 12*time.Hour) }

// Announces tells whether waiters with these settings announce themselves when they are the head of the local
// queue. No other does: readers stand back for an announced writer, and if one of them were before it in the
// same local queue, neither could go on.
func (b *Base) Announces(set *settings.Settings) bool {
	return set.PreferWriters && b.Kind.Side.Withdraw != nil
}

// signOfLife is the longest pause between two attempts of a waiter that is announced. Each attempt renews the
// announcement. If the process of the waiter has died, the announcement runs out after two such pauses.
const signOfLife = 3 * time.Second

// giveSigns bounds the pauses of a waiter that announces itself.
func (b *Base) giveSigns(set *settings.Settings) {
	if b.Announces(set) {
		set.Poll = min(set.Poll, signOfLife)
	}
}

func checkAtLeast(set *settings.Settings) error {
	switch {
	case set.AtLeast == 0:
	case set.Lease > 0 && set.Lease < set.AtLeast:
		return errs.Wrong("WithLease(%v) ends the hold before WithAtLeast(%v) has passed; give a longer lease, or leave one of them out", set.Lease, set.AtLeast)
	case set.MaxHold > 0 && set.MaxHold < set.AtLeast:
		return errs.Wrong("WithMaxHold(%v) ends the hold before WithAtLeast(%v) has passed; give a longer limit, or leave one of them out", set.MaxHold, set.AtLeast)
	}
	return nil
}
