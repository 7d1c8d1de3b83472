package permitsemaphore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// UpdateLease makes the permit end lease from now, later or sooner than it would have, whichever process has
// it; with NoExpiry it never ends. When it is unknown, released or expired the error matches ErrNotHeld.
//
// A Permit of this process that has only this id is told, as by its own UpdateLease. Any other Permit goes by
// the lease that it knows: if that is longer than the new one, the Permit is lost at its next check; if it is
// renewed, that goes on.
func (s *Semaphore) UpdateLease(ctx context.Context, id string, lease time.Duration) error {
	if err := checkLease("UpdateLease", lease); err != nil {
		return err
	}
	ids, err := parse("UpdateLease", []string{id})
	if err != nil {
		return err
	}
	for _, g := range s.own(ids) {
		if len(g.names()) > 1 {
			continue
		}
		g.enter()
		defer g.exit()
		err := g.Extend(ctx, lease)
		if errors.Is(err, errs.Lost) || errors.Is(err, errs.Released) {
			err = fmt.Errorf("%w: %w", errs.NotHeld, err)
		}
		return err
	}
	held, err := s.update(ctx, ids, lease, func() {})
	if err == nil && !held {
		return s.notHeld(id)
	}
	return err
}

func (s *Semaphore) update(ctx context.Context, ids []string, lease time.Duration, over func()) (bool, error) {
	return counter.ChangeThen(ctx, s.made(), s.made().Defaults(),
		func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
			return script.UpdateLease(s.keys, ids, lease, wake, call)
		}, over)
}

func (s *Semaphore) notHeld(id string) error {
	return fmt.Errorf("%w: permit %s of %q is unknown, was released or has expired", errs.NotHeld, id, s.Name())
}

// LeaseTime returns how long the permit lasts if it is not renewed, NoExpiry if it never ends. When it is
// unknown, released or expired the error matches ErrNotHeld.
func (s *Semaphore) LeaseTime(ctx context.Context, id string) (time.Duration, error) {
	ids, err := parse("LeaseTime", []string{id})
	if err != nil {
		return 0, err
	}
	left, err := query(ctx, s, func(wake scripts.Wake) scripts.Command[script.Left] {
		return script.LeaseTime(s.keys, ids[0], wake)
	})
	if err == nil && !left.Held {
		return 0, s.notHeld(id)
	}
	return left.Time, err
}

func checkLease(call string, lease time.Duration) error {
	if lease < settings.MinLease && lease != NoExpiry {
		return errs.Wrong("%s: a lease is at least %v, or NoExpiry for a permit that never ends, not %v", call,
			settings.MinLease, lease)
	}
	return nil
}

// Extend sets the lease, which the watchdog then extends no more. Changes come one after another: a copy of
// one that is still on its way would undo the next, so that waits until the copy is barred.
func (g *grant) Extend(ctx context.Context, lease time.Duration) error {
	lockorder.Waits[lockorder.LeaseChange](g)
	select {
	case g.changing <- struct{}{}:
		lockorder.Has[lockorder.LeaseChange](g)
	case <-ctx.Done():
		return fmt.Errorf("redlatch: the lease of a permit of %q is unchanged: %w", g.semaphore.counter.Name, ctx.Err())
	}
	over := func() {
		lockorder.Gone[lockorder.LeaseChange](g)
		<-g.changing
	}
	g.mu.Lock()
	ids, lost, released := g.ids, g.loss.Err(), g.released
	g.changed, g.owed = true, max(g.owed, owed(lease))
	g.mu.Unlock()
	var err error
	switch {
	case lost != nil:
		err = lost
	case released:
		err = fmt.Errorf("%w: the lease of a permit of %q cannot be updated any more", errs.Released,
			g.semaphore.counter.Name)
	}
	if err != nil || len(ids) == 0 {
		over()
		return err
	}
	sent := clock.Now()
	if end := g.end(); !end.IsZero() && (lease == NoExpiry || sent.Add(lease).After(end)) {
		lease = max(end.Sub(sent), time.Millisecond)
	}
	restore := g.trustAtMost(trust(sent, lease))
	held, err := g.semaphore.update(ctx, ids, lease, over)
	switch {
	case errors.Is(err, errs.Uncertain):
		return err
	case err != nil:
		restore()
		return err
	case !held:
		// Not a loss where this program has given back one of them meanwhile, and the others may be there.
		switch parted, err := g.parted(ctx, ids); {
		case err != nil:
			restore()
			return fmt.Errorf("redlatch: the lease of a permit of %q is unchanged: %w", g.semaphore.counter.Name, err)
		case parted:
			restore()
			return g.Extend(ctx, lease)
		}
		return g.loss.Explain(g.lose(redlatch.ReasonTaken, nil))
	}
	return g.agree(sent, lease)
}

// parted waits until none of the permits is being released by id, and tells whether one of the ids was given
// back here.
func (g *grant) parted(ctx context.Context, ids []string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.leaving) > 0 {
		if g.parting == nil {
			g.parting = make(chan struct{})
		}
		over := g.parting
		g.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		g.mu.Lock()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return g.released || len(g.ids) < len(ids), nil
}

// trustAtMost makes the grant end at limit, if it is trusted for longer: from the moment on at which a
// shorter lease is sent it may be in force, whatever becomes of the answer. It returns what takes that back.
func (g *grant) trustAtMost(limit time.Time) (restore func()) {
	before := watchdog.MomentOf(g.ticket.TrustedUntil())
	if !limit.Before(before.Time()) {
		return func() {}
	}
	g.change(before.Time(), limit)
	return func() { g.change(before.Time(), g.end()) }
}

func (g *grant) change(trusted, end time.Time) {
	g.mu.Lock()
	terms := g.terms(trusted, end)
	g.mu.Unlock()
	g.semaphore.counter.Session.Watchdog.Change(&g.ticket, terms)
}

// agree takes over a lease that the server has confirmed, if that was in time.
func (g *grant) agree(sent time.Time, lease time.Duration) error {
	g.mu.Lock()
	g.lease, g.renewing, g.owed = lease, false, 0
	lost := g.loss.Err()
	g.mu.Unlock()
	if lost != nil {
		return lost
	}
	trusted, end := trust(sent, lease), g.end()
	if trusted.Before(g.ticket.TrustedUntil()) {
		end = trusted
	}
	g.change(trusted, end)
	return nil
}
