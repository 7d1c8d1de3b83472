package fleet_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
)

// asked are the events by which holders are asked.
type asked struct {
	mu    sync.Mutex
	heard chan redlatch.Event
	log   bytes.Buffer
}

func (a *asked) options() []redlatch.Option {
	a.heard = make(chan redlatch.Event, 10)
	return []redlatch.Option{
		redlatch.WithLogger(slog.New(slog.NewTextHandler(a, nil))),
		redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventAsked {
				a.heard <- e
			}
		})),
	}
}

func (a *asked) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Write(line)
}

func (a *asked) logged() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.String()
}

// listed waits until the client of an owner has an entry.
func listed(t *testing.T, client redis.UniversalClient, owner string) {
	t.Helper()
	id, _ := identity(t, owner)
	require.Eventually(t, func() bool { return client.Exists(t.Context(), registry.Entry("", id)).Val() == 1 }, 10*time.Second, 20*time.Millisecond)
}

func TestAHolderThatIsAskedGivesUpAndOneThatDoesNotReactLosesNothing(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	asking := srv.Client(t)
	var reacting, ignoring, parts, group, permits, forged asked
	hold, err := rlock.New(srv.Client(t), "a", reacting.options()...).Lock(t.Context())
	require.NoError(t, err)
	stubborn, err := rlock.New(srv.Client(t), "b", ignoring.options()...).Lock(t.Context())
	require.NoError(t, err)
	both := srv.Client(t)
	several, err := multilock.New([]redlatch.Locker{rlock.New(both, "c"), rlock.New(both, "d")}, parts.options()...).Lock(t.Context())
	require.NoError(t, err)
	values, err := multilock.NewGroup(srv.Client(t), "g", []string{"x", "y"}, group.options()...).Lock(t.Context())
	require.NoError(t, err)
	pool := permitsemaphore.New(srv.Client(t), "s", permits.options()...)
	_, err = pool.TrySetPermits(t.Context(), 2)
	require.NoError(t, err)
	permit, err := pool.Acquire(t.Context(), 1)
	require.NoError(t, err)
	quiet, err := rlock.New(srv.Client(t), "e", forged.options()...).Lock(t.Context())
	require.NoError(t, err)
	defer unlock(t, several, values, quiet)
	listed(t, asking, hold.Owner())
	listed(t, asking, stubborn.Owner())
	member := get(t, asking, redlatch.KindLock, "d").Holders[0].Owner
	listed(t, asking, member)
	listed(t, asking, values.Owner())
	listed(t, asking, quiet.Owner())
	require.Eventually(t, func() bool {
		return get(t, asking, redlatch.KindPermitSemaphore, "s").Holders[0].Client != nil
	}, 10*time.Second, 20*time.Millisecond)

	// A word in the registry alone asks nobody: who may write there need not have a right to the lock.
	id, _ := identity(t, quiet.Owner())
	require.NoError(t, asking.HSet(t.Context(), registry.Asked("", id), quiet.Owner(), now(t, asking)+600_000).Err())
	go func() {
		<-reacting.heard
		_ = hold.Unlock(context.Background())
	}()
	go func() {
		<-permits.heard
		_ = permit.Release(context.Background())
	}()
	var all sync.WaitGroup
	ask := func(kind redlatch.Kind, name, owner string, wait time.Duration, want fleet.Answer) {
		all.Go(func() {
			answer, err := fleet.AskOwner(t.Context(), asking, kind, name, owner, fleet.Notice{Who: "ada@ops-1", Why: "\x1b[2J an\nimport"}, wait)
			if err != nil || answer != want {
				t.Errorf("%s: %q, %v", name, answer, err)
			}
		})
	}
	ask(redlatch.KindLock, "a", hold.Owner(), time.Minute, fleet.GivenUp)
	ask(redlatch.KindLock, "b", stubborn.Owner(), 7*time.Second, fleet.HeldOn)
	ask(redlatch.KindLock, "d", member, 7*time.Second, fleet.HeldOn)
	ask(redlatch.KindGroupLock, "g", values.Owner(), 7*time.Second, fleet.HeldOn)
	ask(redlatch.KindPermitSemaphore, "s", permit.IDs()[0], time.Minute, fleet.GivenUp)
	ask(redlatch.KindLock, "a", "nobody", time.Minute, fleet.NotHeld)
	all.Wait()

	e := <-ignoring.heard
	require.Equal(t, redlatch.KindLock, e.Primitive)
	require.Equal(t, "b", e.Name)
	require.Equal(t, stubborn.Owner(), e.Owner)
	require.Equal(t, "ada@ops-1", e.Who)
	require.Equal(t, "?[2J an import", e.Why)
	require.Empty(t, ignoring.heard, "one request is told once, however many reports find it")
	require.Contains(t, ignoring.logged(), "somebody asks for a lock")
	require.NotContains(t, ignoring.logged(), "\x1b")
	require.Equal(t, redlatch.KindMultiLock, (<-parts.heard).Primitive)
	require.Equal(t, redlatch.KindGroupLock, (<-group.heard).Primitive)
	require.Empty(t, forged.heard)
	require.Empty(t, forged.logged())
	require.NoError(t, stubborn.Unlock(t.Context()))
	require.NoError(t, asking.Del(t.Context(), registry.Asked("", id)).Err())
	for _, begin := range []string{"redlatch_forced", "redlatch_client_asked"} {
		require.Empty(t, asking.Keys(t.Context(), begin+"*").Val(), "a request is taken back")
	}
}

func unlock(t *testing.T, holds ...*redlatch.Hold) {
	for _, h := range holds {
		require.NoError(t, h.Unlock(context.Background()))
	}
}

func TestOwnersWhoCannotHearAreNotWaitedFor(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix := srv.Client(t), srv.Key(t, "tenant")+":"
		deaf, dead, lives := webAbout, webAbout, webAbout
		dead.Hears, lives.Hears = true, true
		enter(t, client, prefix, ours, 0, deaf)
		enter(t, client, prefix, other, time.Hour, dead)
		const third = "44444444-4444-8444-8444-444444444444"
		enter(t, client, prefix, third, 0, lives)
		for id, says := range map[string]string{java: "no entry", ours: "does not look for requests", other: "probably dead"} {
			name := srv.Key(t, "lock"+id)
			require.NoError(t, client.HSet(t.Context(), name, id+":7", 1).Err())
			_, err := fleet.AskOwner(t.Context(), client, redlatch.KindLock, name, id+":7", stuck, 24*time.Hour, fleet.WithRegistry(prefix))
			var unaskable *fleet.UnaskableError
			require.ErrorAs(t, err, &unaskable)
			require.ErrorContains(t, err, says)
			require.EqualValues(t, 1, client.Exists(t.Context(), name).Val())
		}
		name := srv.Key(t, "name")
		require.NoError(t, client.HSet(t.Context(), name, third+":7", 1).Err())
		theirs := registry.Asked(prefix, third)
		require.NoError(t, client.Set(t.Context(), theirs, "theirs", 0).Err())
		_, err := fleet.AskOwner(t.Context(), client, redlatch.KindLock, name, third+":7", stuck, 24*time.Hour, fleet.WithRegistry(prefix))
		require.ErrorAs(t, err, new(*fleet.UnaskableError))
		require.ErrorContains(t, err, theirs)
		require.Equal(t, "theirs", client.GetDel(t.Context(), theirs).Val())
		answer, err := fleet.AskOwner(t.Context(), client, redlatch.KindLock, name, third+":7", stuck, time.Second, fleet.WithRegistry(prefix))
		require.NoError(t, err)
		require.Equal(t, fleet.NotHeard, answer, "it has just died")
		require.EqualValues(t, 1, client.Exists(t.Context(), name).Val())
	})
}

func TestARequestIsTakenBackWhenTheContextEnds(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	lives := webAbout
	lives.Hears = true
	enter(t, client, "", ours, 0, lives)
	require.NoError(t, client.HSet(t.Context(), "a", ours+":7", 1).Err())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := fleet.AskOwner(ctx, client, redlatch.KindLock, "a", ours+":7", stuck, time.Hour)
		ended <- err
	}()
	word := registry.Asked("", ours)
	redistest.Eventually(t, "the request stands", func() bool { return client.Exists(t.Context(), keys.Forced("a"), word).Val() == 2 })
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Zero(t, client.Exists(t.Context(), keys.Forced("a"), word).Val())
}

func TestWhoMayNotAskIsToldWhichRightIsMissing(t *testing.T) {
	srv := redistest.Process(t)
	admin := srv.Client(t)
	about := webAbout
	about.Hears = true
	enter(t, admin, "", ours, 0, about)
	require.NoError(t, admin.HSet(t.Context(), "app:a", ours+":7", 1).Err())
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "op", "on", ">secret", "~app:*", "~redlatch_*:{app:*", "+@all").Err())
	op := srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "op", "secret" })
	for range 2 {
		_, err := fleet.AskOwner(t.Context(), op, redlatch.KindLock, "app:a", ours+":7", stuck, time.Hour)
		require.Error(t, err)
		require.True(t, redis.IsPermissionError(err) || strings.Contains(err.Error(), "no entry"), err.Error())
		if err := admin.Do(t.Context(), "acl", "setuser", "op", "%R~redlatch_client*").Err(); err != nil {
			t.Skip("this server has no rights that are for reading alone")
		}
	}
	_, err := fleet.AskOwner(t.Context(), op, redlatch.KindLock, "app:a", ours+":7", stuck, time.Hour)
	require.ErrorContains(t, err, "the user needs the right to write to redlatch_client:{b17}:"+ours)
	require.Empty(t, admin.Keys(t.Context(), "redlatch_forced*").Val())
}
