package multilock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
)

// A script plays the members: it notes how they are asked, in turn, and refuses where the test says so.
type script struct {
	calls  []string
	refuse map[int]bool // by the number of the call
}

// A scripted is one member.
type scripted struct {
	script *script
	name   string
}

func (m scripted) Name() string { return m.name }

func (m scripted) Lock(_ context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	how := "waits for"
	if rootapi.Apply(settings.Defaults(), opts).Wait > 0 {
		how = "waits a while for"
	}
	return m.answer(how)
}

func (m scripted) TryLock(context.Context, ...redlatch.Option) (*redlatch.Hold, error) {
	return m.answer("tries")
}

func (m scripted) answer(how string) (*redlatch.Hold, error) {
	m.script.calls = append(m.script.calls, how+" "+m.name)
	if m.script.refuse[len(m.script.calls)] {
		return nil, fmt.Errorf("%w: %s", redlatch.ErrNotAcquired, m.name)
	}
	return rootapi.Hold[*redlatch.Hold](&scriptedHold{member: m}, nil), nil
}

type scriptedHold struct {
	member scripted
	ending holds.Ending
}

func (h *scriptedHold) Unlock(context.Context) error {
	h.ending.End(redlatch.ErrReleased)
	return nil
}
func (h *scriptedHold) Extend(context.Context, time.Duration) error { return nil }
func (h *scriptedHold) Owner() string                               { return "" }
func (h *scriptedHold) Object() (p, n string)                       { return "lock", "orders:42" }
func (h *scriptedHold) Token() int64                                { return 0 }
func (h *scriptedHold) Until() time.Time                            { return time.Now().Add(time.Hour) }
func (h *scriptedHold) Ending() *holds.Ending                       { return &h.ending }
func (h *scriptedHold) Leave()                                      {}
func (h *scriptedHold) Forgotten(*holds.Place)                      {}

// What is waited for while something is held always comes later in the order, or circles of multi-locks would close,
// which nothing but patience ends: under load that is a collapse from which they do not recover.
func TestNothingIsWaitedForAgainstTheOrderWhileAnythingIsHeld(t *testing.T) {
	s := &script{refuse: map[int]bool{2: true, 4: true, 6: true}}
	lock := multilock.New([]redlatch.Locker{scripted{s, "c"}, scripted{s, "a"}, scripted{s, "b"}})
	hold := take(t, lock, cancellable(t))
	require.Equal(t, []string{
		"waits for a", "waits a while for b", // in vain, and a is given back
		"waits for b", "tries a", // with b in hand; in vain, and b is given back
		"waits for a", "waits a while for b", // in order again, in vain again
		"waits for b", "tries a", "waits a while for c",
	}, s.calls)
	require.NoError(t, hold.Unlock(context.Background()))
}

// Multi-locks of the same members in another order would close a circle with each other.
func TestMembersOfOneNameAreTakenInOneOrder(t *testing.T) {
	for what, of := range map[string]func(c *redis.Client, part string) redlatch.Locker{
		"values of a group": func(c *redis.Client, part string) redlatch.Locker {
			return multilock.NewGroup(c, "name", []string{part}, quiet...)
		},
		"keys": func(c *redis.Client, part string) redlatch.Locker {
			return fairlock.New(c, "name", with(redlatch.WithNameMapper(func(name string) string { return name + part }))...)
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(p *pair) {
				began := time.Now()
				var all sync.WaitGroup
				for _, parts := range [][]string{{"a", "b"}, {"b", "a"}} {
					client := p.another()
					client.AddHook(faulty(func(_ int, execute func() error) error { time.Sleep(time.Millisecond); return execute() }))
					lock := multilock.New([]redlatch.Locker{of(client, parts[0]), of(client, parts[1])})
					all.Go(func() {
						for range 50 {
							if err := lock.Do(p.Context(), func(context.Context) error { return nil }); err != nil {
								p.Error(err)
							}
						}
					})
				}
				all.Wait()
				require.Less(p, time.Since(began), 2*time.Second, "a circle lasts for a quarter of a second at least")
			})
		})
	}
}

func TestAGroupBesideAPartOfItIsTakenFirst(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	all, part := multilock.NewGroup(client, "g", []string{"a", "b"}, quiet...), multilock.NewGroup(client, "g", []string{"a"}, quiet...)
	require.NoError(t, take(t, multilock.New([]redlatch.Locker{part, all}), ctx).Unlock(ctx))
	require.Empty(t, srv.Keys(t))
}

func TestATryStopsAtTheFirstRefusal(t *testing.T) {
	s := &script{refuse: map[int]bool{2: true}}
	_, err := multilock.New([]redlatch.Locker{scripted{s, "b"}, scripted{s, "c"}, scripted{s, "a"}}).TryLock(cancellable(t))
	require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	require.Equal(t, []string{"tries a", "tries b"}, s.calls)
}

// A member may be anybody's Locker, and a hook of its client may panic. A program that recovers from it would find the
// others held, and renewed, for ever.
func TestAMemberThatPanicsLeavesNothing(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, a := cancellable(t), rlock.New(srv.Client(t), "a", quiet...)
	lock := multilock.New([]redlatch.Locker{a, panicking{"b"}})
	for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
		require.PanicsWithValue(t, "b", func() { _, _ = ask(ctx) })
		free(t, a)
	}
	require.Empty(t, srv.Keys(t))
}

type panicking struct{ name string }

func (m panicking) Name() string { return m.name }

func (m panicking) Lock(context.Context, ...redlatch.Option) (*redlatch.Hold, error) { panic(m.name) }

func (m panicking) TryLock(context.Context, ...redlatch.Option) (*redlatch.Hold, error) {
	panic(m.name)
}
