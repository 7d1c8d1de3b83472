package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// patient has a waiter wait for a message: its own question would come too late.
var patient = redlatch.WithPoll(time.Hour)

type made func(client redlatch.Client, name string) redlatch.Locker

// lock asks whether a lock works on the server: one client takes it, a second client is refused and waits, the first one
// gives it back, and the waiter gets it.
func lock(of made) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		return handOver(ctx, of(s.client(), "lock"), of(s.client(), "lock"))
	}
}

func handOver(ctx context.Context, ours, theirs redlatch.Locker) error {
	hold, err := ours.Lock(ctx)
	if err != nil {
		return err
	}
	if _, err := theirs.TryLock(ctx); !errors.Is(err, redlatch.ErrNotAcquired) {
		return fmt.Errorf("a lock that is held was given to another: %w", err)
	}
	next := make(chan error, 1)
	go func() {
		got, err := theirs.Lock(ctx)
		if err == nil {
			err = got.Unlock(ctx)
		}
		next <- err
	}()
	time.Sleep(50 * time.Millisecond) // for it to wait; it need not
	return errors.Join(hold.Unlock(ctx), <-next)
}

func readers(ctx context.Context, s *stage) error {
	ours, theirs := rwlock.New(s.client(), "rw", patient), rwlock.New(s.client(), "rw", patient)
	other, err := theirs.RLock(ctx)
	if err != nil {
		return err
	}
	hold, err := ours.RLock(ctx)
	if err != nil {
		return err
	}
	if err := hold.Unlock(ctx); err != nil {
		return err
	}
	if err := other.Unlock(ctx); err != nil {
		return err
	}
	return handOver(ctx, ours.Reader(), theirs.Writer())
}

// A token is one that came from elsewhere, without its owner.
type token int64

func (token) Name() string   { return "elsewhere" }
func (t token) Token() int64 { return int64(t) }
func (token) Owner() string  { return "" }

func guard(ctx context.Context, s *stage) error {
	g := fencedlock.NewGuard(s.client(), "guarded")
	if err := g.For(token(2)).Set(ctx, "{guarded}:data", "x"); err != nil {
		return err
	}
	if err := g.For(token(1)).Set(ctx, "{guarded}:data", "y"); !errors.Is(err, redlatch.ErrStale) {
		return fmt.Errorf("a stale write is answered with %w", err)
	}
	return nil
}

func semaphores(ctx context.Context, s *stage) error {
	ours, theirs := semaphore.New(s.client(), "permits", patient), semaphore.New(s.client(), "permits", patient)
	if _, err := ours.TrySetPermits(ctx, 1); err != nil {
		return err
	}
	if err := ours.Acquire(ctx, 1); err != nil {
		return err
	}
	next := make(chan error, 1)
	go func() { next <- theirs.Acquire(ctx, 1) }()
	time.Sleep(50 * time.Millisecond) // for it to wait; it need not
	return errors.Join(ours.Release(ctx, 1), <-next)
}

func permits(ctx context.Context, s *stage) error {
	ours, theirs := permitsemaphore.New(s.client(), "leased", patient), permitsemaphore.New(s.client(), "leased", patient)
	if _, err := ours.TrySetPermits(ctx, 1); err != nil {
		return err
	}
	permit, err := ours.Acquire(ctx, 1)
	if err != nil {
		return err
	}
	next := make(chan error, 1)
	go func() {
		p, err := theirs.Acquire(ctx, 1)
		if err == nil {
			err = p.Release(ctx)
		}
		next <- err
	}()
	time.Sleep(50 * time.Millisecond) // for it to wait; it need not
	return errors.Join(permit.Release(ctx), <-next)
}

func latches(ctx context.Context, s *stage) error {
	ours, theirs := countdownlatch.New(s.client(), "latch", patient), countdownlatch.New(s.client(), "latch", patient)
	if _, err := ours.TrySetCount(ctx, 1); err != nil {
		return err
	}
	next := make(chan error, 1)
	go func() { next <- theirs.Await(ctx) }()
	time.Sleep(50 * time.Millisecond) // for it to wait; it need not
	return errors.Join(ours.CountDown(ctx), <-next)
}

func protocols(ctx context.Context, s *stage) error {
	resp := func(version int) redlatch.Locker {
		return rlock.New(s.client(func(o *redis.Options) { o.Protocol = version }), "resp", patient)
	}
	return errors.Join(handOver(ctx, resp(2), resp(3)), handOver(ctx, resp(3), resp(2)))
}

func renewal(ctx context.Context, s *stage) error {
	hold, err := rlock.New(s.client(), "renewed", redlatch.WithWatchdogTimeout(600*time.Millisecond)).Lock(ctx)
	if err != nil {
		return err
	}
	time.Sleep(1500 * time.Millisecond)
	return errors.Join(context.Cause(hold.Context(ctx)), hold.Unlock(ctx))
}

// passed finds the waiter in the row of the lock, and then as its holder: it has not asked again.
func passed(ctx context.Context, s *stage) error {
	ours, theirs := rlock.New(s.client(), "passed", patient), rlock.New(s.client(), "passed", patient)
	hold, err := ours.Lock(ctx)
	if err != nil {
		return err
	}
	type result struct {
		hold *redlatch.Hold
		err  error
	}
	next := make(chan result, 1)
	go func() {
		got, err := theirs.Lock(ctx)
		next <- result{got, err}
	}()
	var seats []string
	for len(seats) == 0 {
		if seats, err = s.server.Admin().ZRange(ctx, keys.LockRow("passed"), 0, -1).Result(); err != nil {
			return err
		}
	}
	// The seat is taken before the subscription for passes may stand; a lock is passed only to a process that listens.
	session, _, _ := strings.Cut(seats[0], ":")
	for channel := keys.LockRow("passed") + ":" + session; ; {
		heard, err := s.server.Admin().PubSubNumSub(ctx, channel).Result()
		if err != nil {
			return err
		}
		if heard[channel] > 0 {
			break
		}
	}
	if err := hold.Unlock(ctx); err != nil {
		return err
	}
	got := <-next
	if got.err != nil {
		return got.err
	}
	if got.hold.Owner() != seats[0] {
		return fmt.Errorf("%s sat in the row, but %s has the lock", seats[0], got.hold.Owner())
	}
	return got.hold.Unlock(ctx)
}

func full(ctx context.Context, s *stage) error {
	c := s.client()
	hold, err := rlock.New(c, "full").Lock(ctx)
	if err != nil {
		return err
	}
	set := func(bytes string) error { return s.server.Admin().ConfigSet(ctx, "maxmemory", bytes).Err() }
	if err := set("1"); err != nil {
		return err
	}
	_, refusal := rlock.New(c, "more").TryLock(ctx)
	if !errors.Is(refusal, redlatch.ErrUnavailable) {
		return errors.Join(fmt.Errorf("a full server answers %w", refusal), set("0"))
	}
	return errors.Join(hold.Extend(ctx, time.Minute), hold.Unlock(ctx), set("0"))
}

func wrongType(ctx context.Context, s *stage) error {
	c := s.client()
	if err := c.Set(ctx, "text", "x", 0).Err(); err != nil {
		return err
	}
	if _, err := rlock.New(c, "text").TryLock(ctx); !errors.Is(err, redlatch.ErrInvalid) {
		return fmt.Errorf("a key of another kind is answered with %w", err)
	}
	return nil
}

// limited is the user that docs/operating.md makes.
func limited(ctx context.Context, s *stage) error {
	page, err := os.ReadFile("docs/operating.md")
	if err != nil {
		return err
	}
	_, rules, _ := strings.Cut(string(page), "```\nACL SETUSER app ")
	rules, _, ok := strings.Cut(rules, "```")
	if !ok {
		return errors.New("docs/operating.md has no such rights")
	}
	set := []any{"acl", "setuser", "app"}
	for _, rule := range strings.Fields(rules) {
		set = append(set, rule)
	}
	if err := s.server.Admin().Do(ctx, set...).Err(); err != nil {
		return err
	}
	user := func() redlatch.Locker {
		c := s.client(func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
		return rlock.New(c, "app:lock", patient)
	}
	return handOver(ctx, user(), user())
}
