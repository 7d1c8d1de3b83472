package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/fleet"
)

// An askedOwner is what came of asking one owner.
type askedOwner struct {
	Owner  string `json:"owner"`
	Answer string `json:"answer"`           // given up, held on, not heard, not held, or unaskable
	Reason string `json:"reason,omitempty"` // why it cannot be asked
}

const unaskable = "unaskable"

// ask asks the owner, or all holders, at the same time. What comes of it goes to stderr at once.
func (u *unlockCommand) ask(ctx context.Context, c call, object *fleet.Object) ([]askedOwner, error) {
	if u.Ask == 0 {
		return nil, nil
	}
	var holders []fleet.Holder
	for _, h := range object.Holders {
		had := slices.ContainsFunc(holders, func(other fleet.Holder) bool { return other.Owner == h.Owner }) // of a group each value has one
		if (u.Owner == "" || h.Owner == u.Owner) && !had {
			holders = append(holders, h)
		}
	}
	asked, failed := make([]askedOwner, len(holders)), make([]error, len(holders))
	var all sync.WaitGroup
	var mu sync.Mutex // of stderr
	for i, holder := range holders {
		all.Go(func() {
			asked[i], failed[i] = u.askOne(ctx, holder)
			if failed[i] == nil {
				mu.Lock()
				defer mu.Unlock()
				complain(c.stderr, "%s: %s\n", terminal.Quote(u.Name), asked[i])
			}
		})
	}
	all.Wait()
	return asked, errors.Join(failed...)
}

func (u *unlockCommand) askOne(ctx context.Context, holder fleet.Holder) (askedOwner, error) {
	answer, err := holder.Ask(ctx, fleet.Notice{Who: cmp.Or(u.By, operator()), Why: u.Reason}, time.Duration(u.Ask))
	if deaf := new(fleet.UnaskableError); errors.As(err, &deaf) {
		return askedOwner{holder.Owner, unaskable, deaf.Detail}, nil
	}
	return askedOwner{Owner: holder.Owner, Answer: string(answer)}, err
}

// String is the answer in one line.
func (a askedOwner) String() string {
	who := terminal.Quote(a.Owner)
	switch a.Answer {
	case string(fleet.GivenUp):
		return who + " was asked and has given it back"
	case string(fleet.HeldOn):
		return who + " was asked, has heard, and holds on"
	case string(fleet.NotHeard):
		return who + " was asked and has not heard"
	case unaskable:
		return who + " cannot be asked: " + terminal.Clean(a.Reason)
	}
	return who + " does not hold it any more"
}

// holdsOn tells whether one of them may hold it still.
func holdsOn(asked []askedOwner) bool {
	return slices.ContainsFunc(asked, func(a askedOwner) bool {
		return a.Answer != string(fleet.GivenUp) && a.Answer != string(fleet.NotHeld)
	})
}

// tellAsked ends the command where nothing is taken away.
func (u *unlockCommand) tellAsked(c call, object *fleet.Object, asked []askedOwner) error {
	if c.Output == "json" {
		err := c.document(u.document(object, false, asked))
		if err == nil && (len(asked) == 0 || holdsOn(asked)) {
			err = exit.Silently(exit.Failed)
		}
		return err
	}
	switch {
	case len(asked) == 0:
		return u.notHeld(object)
	case holdsOn(asked):
		return exit.Silently(exit.Failed) // the output has named the owners that hold on
	}
	return c.say("%s: given back", terminal.Quote(u.Name))
}
