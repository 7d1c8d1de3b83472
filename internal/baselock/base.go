package baselock

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
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

	channel  string // where releases are announced; empty where they are not
	tokens   string // the key of the counter of fencing tokens; empty where there is none
	row      string // of the processes that wait; empty where there is none
	rowKeys  []string
	known    atomic.Pointer[scripts.Known] // nil before the first release to the process queue
	line     cohort.Key
	defaults *settings.Settings
	invalid  error // what is wrong with the name or the options of New; every call reports it
}

// New makes the base of a lock. It does no I/O.
func New(client redlatch.Client, name string, kind *Kind, opts []redlatch.Option) *Base {
	set := rootapi.For(opts)
	b := &Base{Name: name, Session: session.Of(client, set), Kind: kind, defaults: set}
	b.Key, b.invalid = b.Session.KeyOf(name, set)
	if err := b.check(set); err != nil {
		b.invalid = err
	}
	b.line = cohort.KeyFor(b.Key, cmp.Or(kind.side().Cohort, string(kind.Label)))
	if kind.Channel != nil {
		b.channel = kind.Channel(b.Key)
	}
	if kind.Tokens != nil {
		b.tokens = kind.Tokens.Key(b.Key)
	}
	if kind.Queue != nil {
		b.rowKeys = kind.Queue.Keys(b.Key)
		b.row = b.rowKeys[0]
	}
	return b
}

// Refuse has every call report err: what the lock was made with makes no sense.
func (b *Base) Refuse(err error) { b.invalid = err }

// resolve adds the options of one call.
func (b *Base) resolve(opts []redlatch.Option, try bool) (*settings.Settings, error) {
	if b.invalid != nil {
		return nil, b.invalid
	}
	if len(opts) == 0 {
		return b.defaults, nil
	}
	set := rootapi.Apply(b.defaults.ForCall(), opts)
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

// ready finds out by which command releases are announced, which a cluster has to be asked once. Every
// acquisition begins with it, so whatever follows knows.
func (b *Base) ready(ctx context.Context, outage time.Duration) error {
	if b.channel == "" {
		return nil
	}
	_, err := b.Session.PublishFor(ctx, outage)
	return err
}

// wake is the message that a release sends.
func (b *Base) wake() scripts.Wake {
	if b.channel == "" {
		return scripts.Wake{}
	}
	wake := scripts.Wake{Publish: b.Session.Publishes(), Channel: b.channel}
	if b.orders() && b.Session.KnowsListeners() {
		wake.Row = b.row
	}
	return wake
}

// orders tells whether the process of a holder stands behind the others when it releases; see [Queue].
func (b *Base) orders() bool { return b.Kind.Queue != nil && b.Kind.Queue.Orders }

// common are the texts that all releases to the process queue have in common.
func (b *Base) common() scripts.Known {
	if known := b.known.Load(); known != nil {
		return *known
	}
	known := scripts.Know(append([]string{b.Key, b.channel, b.tokens}, b.rowKeys...)...)
	b.known.Store(&known)
	return known
}

// background is a context for what no call waits for.
func (b *Base) background(set *settings.Settings) context.Context {
	return raise.Background(context.Background(), b.log(set))
}

// log is the logger of set, with the lock's name.
func (b *Base) log(set *settings.Settings) *slog.Logger {
	return session.Logger(set.Logger).With("lock.name", b.Name, "lock.primitive", b.Kind.Label)
}
