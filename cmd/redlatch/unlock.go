package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/fleet"
)

const unlockHelp = `Takes a lock, or a permit with an id, away from one owner: the one that "redlatch inspect NAME" shows. Whoever else holds it
keeps it, and so does whoever has got it since. Waiters are woken. For a lock, who did it, when and why is kept for an hour, and
is part of the error that the holder's program gets.

A holder that lives does not stop at once. It learns of the loss at its next renewal, at the latest a third of its lease and
a second later; until then two may believe that they hold the lock. So see to it that its process is dead or stuck.

With --ask the owner is asked to give it back: its program is told, and "redlatch run" ends its command. Nothing is taken,
unless --force says so: then it is taken away after that time, or at once if the owner cannot be asked. Without --owner all
holders are asked.

The exit code is 0 if the owner held it and does not any more, and 1 if it did not hold it, or was only asked and holds on.`

type unlockCommand struct {
	Name   string            `arg:"" help:"Name of the lock."`
	Owner  string            `placeholder:"OWNER" help:"Who it is taken from, or who is asked: <uuid>:<number>, or the id of a permit. Without it, --ask asks all."`
	Ask    duration.Duration `placeholder:"D" help:"Ask for it, wait so long (10s, 2m), and take nothing."`
	Force  bool              `help:"With --ask: take it away from OWNER after that, if it was not given back."`
	Reason string            `required:"" placeholder:"TEXT" help:"Why, for the holder's error and for those who look."`
	By     string            `placeholder:"WHO" help:"Who does it. Default: your user name and this host."`
	Kind   string            `placeholder:"KIND" help:"Kind of the lock, such as fair_lock. Default: what Redis has under the name."`

	Registry string `placeholder:"PREFIX" help:"With --ask: the registry of programs that have WithRegistry(PREFIX)."`
}

// Help is the text below the flags.
func (*unlockCommand) Help() string { return unlockHelp }

// unlockDocument is what -o json prints.
type unlockDocument struct {
	Schema string `json:"schema"`
	views.Name
	Kind  string `json:"kind"`
	Owner string `json:"owner"`
	Freed bool   `json:"freed"` // by force

	Who    string         `json:"who"`             // whose it was, for people
	Host   string         `json:"host"`            // empty: not known
	GoesOn *views.Seconds `json:"goes_on_seconds"` // for so long the holder may go on when it was freed; null: it holds nothing, is dead, or that is not known

	Asked []askedOwner `json:"asked,omitempty"`
}

const unlockSchema = "redlatch.unlock/1"

// Run frees the lock from its owner.
func (u *unlockCommand) Run(c call) error {
	kind, err := fleet.ParseKind(u.Kind)
	switch {
	case err != nil:
		return err
	case u.Owner == "" && u.Ask == 0:
		return exit.With(exit.Usage, errors.New("give --owner, from whom the lock is taken, or --ask, to ask its holders"))
	case u.Owner == "" && u.Force:
		return exit.With(exit.Usage, errors.New("--force takes the lock from one owner: give --owner"))
	case u.Ask < 0:
		return exit.With(exit.Usage, errors.New("--ask: give a time above 0"))
	}
	ctx, client, done, err := c.open()
	if err != nil {
		return err
	}
	defer done()
	object, err := fleet.Get(ctx, client, kind, u.Name, fleet.WithRegistry(u.Registry))
	if wrong := new(fleet.KindError); errors.As(err, &wrong) && wrong.Ambiguous {
		object, err = new(fleet.Object), nil // a number, such as a permit semaphore is of which no permit is taken: nobody holds it
	}
	if err != nil {
		return interruption(ctx, ofKind(err))
	}
	asked, err := u.ask(ctx, c, object)
	if err != nil {
		return interruption(ctx, ofKind(err))
	}
	if u.Ask != 0 && !u.Force || len(asked) > 0 && !holdsOn(asked) {
		return u.tellAsked(c, object, asked)
	}
	freed := false
	if h := object.Holder(u.Owner); h != nil {
		freed, err = h.Free(ctx, fleet.Notice{Who: cmp.Or(u.By, operator()), Why: u.Reason})
	}
	if err != nil {
		return interruption(ctx, ofKind(err))
	}
	if c.Output == "json" {
		err = c.document(u.document(object, freed, asked))
		if err == nil && !freed {
			err = exit.Silently(exit.Failed)
		}
		return err
	}
	if freed {
		return c.say("%s: freed from %s", terminal.Quote(u.Name), told(object.Holder(u.Owner)))
	}
	return u.notHeld(object)
}

func (u *unlockCommand) document(o *fleet.Object, freed bool, asked []askedOwner) unlockDocument {
	d := unlockDocument{Schema: unlockSchema, Name: views.NameOf(u.Name), Kind: string(o.Kind), Owner: u.Owner, Freed: freed, Asked: asked}
	if h := o.Holder(u.Owner); h != nil {
		d.Who = h.Who()
		if h.Client != nil {
			d.Host = h.Client.Host
		}
		if on := goesOn(h); freed && on > 0 {
			d.GoesOn = &views.Seconds{Duration: on, Known: true}
		}
	}
	return d
}

// goesOn is for how long a holder may go on that lives and from whom it was taken: until its next renewal, which comes after a third of its
// lease and a second at the latest. It is 0 where that is not known, as of Redisson, or the holder is probably dead.
func goesOn(h *fleet.Holder) time.Duration {
	if h.Client == nil || h.Client.Silent() || h.Client.Ended || h.Kept || h.Client.Timeout == 0 {
		return 0
	}
	return h.Client.Timeout/3 + time.Second
}

// told says of whom something was taken, and what that one may do still.
func told(h *fleet.Holder) string {
	text := fmt.Sprintf("%s (owner %s)", terminal.Clean(h.Who()), terminal.Quote(h.Owner))
	switch on := goesOn(h); {
	case h.Client != nil && h.Client.Ended:
		return text + ", which had ended and kept it by WithAtLeast"
	case h.Kept:
		return text + ", which had given it back and kept it by WithAtLeast"
	case h.Client != nil && h.Client.Silent():
		return text + ", which was last seen " + views.Age(h.Client.LastSeen) + " ago and is probably dead"
	case on > 0:
		return text + ", which may go on as if it held it for up to " + views.Age(on)
	}
	return text + ", which may go on as if it held it"
}

// notHeld is the error that the owner, or anybody, does not hold the object.
func (u *unlockCommand) notHeld(o *fleet.Object) error {
	if u.Owner == "" {
		return exit.With(exit.Failed, fmt.Errorf("%s: nobody holds it", terminal.Quote(u.Name)))
	}
	return exit.With(exit.Failed, fmt.Errorf("%s is not held by %s; %s", terminal.Quote(u.Name), terminal.Quote(u.Owner), heldBy(o)))
}

// heldBy says who holds an object. Of a plain semaphore that is known by the words of the clients alone.
func heldBy(o *fleet.Object) string {
	if o.Kind == redlatch.KindSemaphore && len(o.Unconfirmed) > 0 {
		var words []string
		for _, c := range o.Unconfirmed {
			words = append(words, fmt.Sprintf("%s has %d", terminal.Clean(c.Who()), c.Holds))
		}
		return "the permits of a semaphore have no owners; by their own words " + strings.Join(words, ", ") +
			". \"redlatch permits --add N\" gives back those of a dead process"
	}
	if len(o.Holders) == 0 {
		return "nobody holds it" + lastForced(o)
	}
	owners := make([]string, 0, len(o.Holders))
	for _, h := range o.Holders {
		owners = append(owners, terminal.Clean(h.Who())+" (owner "+terminal.Quote(h.Owner)+")")
	}
	return "it is held by " + strings.Join(owners, ", ") + lastForced(o)
}

// lastForced says by whom an object was taken away in the last hour.
func lastForced(o *fleet.Object) string {
	f := o.Forced
	if f == nil {
		return ""
	}
	return fmt.Sprintf("; %s took it from %s at %s: %s", terminal.Clean(f.Who), terminal.Quote(f.Owner), f.At.Format(time.TimeOnly), terminal.Clean(f.Why))
}

// ofKind gives the error that the name is of another kind its exit code, and says by which flag a kind is given where that is wanted.
func ofKind(err error) error {
	wrong := new(fleet.KindError)
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Ambiguous {
		err = fmt.Errorf("%w, as with --kind semaphore", err)
	}
	return exit.With(exit.WrongKind, err)
}

// operator is who runs the command.
func operator() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
