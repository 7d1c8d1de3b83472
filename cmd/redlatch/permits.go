package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/semaphore"
)

const permitsHelp = `Shows the permits of a semaphore, sets their number once, or changes it. A semaphore whose permits have ids ("permit
semaphore") is told from a plain one by what Redis keeps beside it; give --ids for one that is not there yet, or of which
no permit is taken.`

type permitsCommand struct {
	Name string `arg:"" help:"Name of the semaphore."`
	Set  *int64 `placeholder:"N" xor:"what" help:"Set the number of a semaphore that is not there yet. The exit code is 1 if it is."`
	Add  *int64 `placeholder:"D" xor:"what" help:"Change the number by D, as in --add 2 or --add=-2."`
	IDs  bool   `name:"ids" help:"The permits have ids and leases: package permitsemaphore."`
}

// Help is the text below the flags.
func (*permitsCommand) Help() string { return permitsHelp }

// Validate refuses numbers that make no sense.
func (p *permitsCommand) Validate() error {
	if p.Set != nil && *p.Set < 0 {
		return errors.New("--set: the number of permits cannot be negative")
	}
	return nil
}

// permitsDocument is what -o json prints.
type permitsDocument struct {
	Schema string `json:"schema"`
	views.Name
	Kind      redlatch.Kind `json:"kind"`
	Exists    bool          `json:"exists"`
	Available int64         `json:"available"`
	Total     *int64        `json:"total,omitempty"` // of a permit semaphore, taken ones included
}

const permitsSchema = "redlatch.permits/1"

// counted is what both kinds of semaphore can do here.
type counted interface {
	TrySet(ctx context.Context, n int64) (bool, error)
	AddPermits(ctx context.Context, d int64) (int64, error)
}

type plainPermits struct{ *semaphore.Semaphore }

func (p plainPermits) TrySet(ctx context.Context, n int64) (bool, error) {
	return p.TrySetPermits(ctx, n)
}

type permitsWithIDs struct{ *permitsemaphore.Semaphore }

func (p permitsWithIDs) TrySet(ctx context.Context, n int64) (bool, error) {
	return p.TrySetPermits(ctx, n)
}

// Run shows or changes permits.
func (p *permitsCommand) Run(c call) error {
	ctx, client, done, err := c.open()
	if err != nil {
		return err
	}
	defer done()
	kind, err := p.kind(ctx, client)
	if err != nil {
		return interruption(ctx, err)
	}
	var s counted = plainPermits{semaphore.New(client, p.Name)}
	if kind == redlatch.KindPermitSemaphore {
		s = permitsWithIDs{permitsemaphore.New(client, p.Name)}
	}
	switch {
	case p.Set != nil:
		set, err := s.TrySet(ctx, *p.Set)
		if err == nil && !set {
			err = exit.With(exit.Failed, fmt.Errorf("%s %s is there already; --add changes its number", kind.Noun(), terminal.Quote(p.Name)))
		}
		if err != nil {
			return interruption(ctx, err)
		}
	case p.Add != nil:
		if _, err := s.AddPermits(ctx, *p.Add); err != nil {
			return interruption(ctx, err)
		}
	}
	return interruption(ctx, p.show(ctx, c, client, kind))
}

// kind is what the name is, by what Redis has, or what it is to be. A number that nothing vouches for may be any program's, and is a
// semaphore here because the user says so.
func (p *permitsCommand) kind(ctx context.Context, client redis.UniversalClient) (redlatch.Kind, error) {
	want := redlatch.KindSemaphore
	if p.IDs {
		want = redlatch.KindPermitSemaphore
	}
	found, err := fleet.Get(ctx, client, fleet.Detect, p.Name)
	var foreign *fleet.KindError
	switch {
	case errors.As(err, &foreign):
		_, err = fleet.Get(ctx, client, want, p.Name)
	case err == nil && found.Kind == redlatch.KindPermitSemaphore:
		return redlatch.KindPermitSemaphore, nil
	case err == nil && found.Kind != fleet.Detect && found.Kind != want:
		err = exit.With(exit.WrongKind, fmt.Errorf("%s is a %s, not a %s", terminal.Quote(p.Name), found.Kind.Noun(), want.Noun()))
	}
	if errors.As(err, &foreign) {
		err = exit.With(exit.WrongKind, err)
	}
	return want, err
}

func (p *permitsCommand) show(ctx context.Context, c call, client redis.UniversalClient, kind redlatch.Kind) error {
	object, err := fleet.Get(ctx, client, kind, p.Name)
	if err != nil {
		return err
	}
	info := object.Info
	if c.Output == "json" {
		d := permitsDocument{permitsSchema, views.NameOf(p.Name), kind, info.Exists, info.Value, nil}
		if kind == redlatch.KindPermitSemaphore {
			d.Total = &info.Total
		}
		return c.document(d)
	}
	text := fmt.Sprintf("%d available", info.Value)
	switch {
	case !info.Exists:
		text = "not set"
	case kind == redlatch.KindPermitSemaphore:
		text += fmt.Sprintf(" of %d", info.Total)
	}
	return c.say("%s: %s", terminal.Quote(p.Name), text)
}
