package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

func TestUnlockFreesTheOwnerThatWasShownAndNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := context.Background()
		hold, err := rlock.New(srv.Client(t), "orders:42").Lock(ctx)
		require.NoError(t, err)
		unlock := func(code int, owner string, more ...string) string {
			return ends(t, srv, code, append([]string{"unlock", "orders:42", "--reason", "the import hangs", "--by", "ada", "--owner", owner}, more...)...)
		}

		text := unlock(exit.Failed, "x:1")
		require.Contains(t, text, "is not held by x:1; it is held by client "+hold.Owner()[:36]+" (owner "+hold.Owner()+")")
		require.NoError(t, hold.Unlock(ctx))
		require.Contains(t, unlock(exit.Failed, hold.Owner()), "nobody holds it")

		hold, err = rlock.New(srv.Client(t), "orders:42").Lock(ctx)
		require.NoError(t, err)
		require.Equal(t, "orders:42: freed from client "+hold.Owner()[:36]+" (owner "+hold.Owner()+"), which may go on as if it held it\n",
			unlock(exit.OK, hold.Owner()))
		err = hold.Unlock(ctx)
		require.ErrorIs(t, err, redlatch.ErrLost)
		require.ErrorContains(t, err, "freed by force by ada at ")
		require.ErrorContains(t, err, ": the import hangs")

		var shown unlockDocument
		require.NoError(t, json.Unmarshal([]byte(unlock(exit.Failed, hold.Owner(), "-o", "json")), &shown))
		require.False(t, shown.Freed)
		require.Equal(t, "orders:42", shown.Text)
	})
}

func TestUnlockSaysWhoseItWasAndWhatThatOneMayDoStill(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	long := moment(t, client, time.Hour)
	thing := func(key string) registry.Thing {
		return registry.Thing{Kind: "lock", Key: key, Holds: 1, HeldSince: long, Owners: []registry.Owner{{ID: "7", Since: long}}}
	}
	enter(t, client, living, time.Second, registry.About{Host: "web-3", PID: 17, Program: "billing", Language: "go", Timeout: 30000, Hears: true}, thing("a"))
	enter(t, client, dead, time.Hour, registry.About{Host: "batch-1", PID: 1, Program: "invoicer", Language: "go", Timeout: 30000}, thing("b"))
	holdAs(t, client, "a", time.Hour, living+":7", 1)
	holdAs(t, client, "b", time.Hour, dead+":7", 1)
	unlock := func(code int, name, owner string, more ...string) string {
		return ends(t, srv, code, append([]string{"unlock", name, "--reason", "it hangs", "--by", "ada@ops-1", "--owner", owner}, more...)...)
	}
	require.Equal(t, "a: freed from web-3 billing pid 17 (owner "+living+":7), which may go on as if it held it for up to 11 s\n", unlock(exit.OK, "a", living+":7"))
	require.Equal(t, "b: freed from batch-1 invoicer pid 1 (owner "+dead+":7), which was last seen 1 h ago and is probably dead\n", unlock(exit.OK, "b", dead+":7"))

	// Who did it is shown for an hour.
	require.Regexp(t, `a is not held by \S+; nobody holds it; ada@ops-1 took it from `+living+`:7 at \d\d:\d\d:\d\d: it hangs`, unlock(exit.Failed, "a", living+":7"))
	require.Regexp(t, `(?m)^  forced +by ada@ops-1 \d\.\d s ago, from the owner `+living+`:7: it hangs$`, show(t, "redis://"+srv.Addr, "inspect", "a"))
	var shown struct{ Forced map[string]any }
	require.NoError(t, json.Unmarshal([]byte(show(t, "redis://"+srv.Addr, "inspect", "a", "-o", "json")), &shown))
	require.Equal(t, "ada@ops-1", shown.Forced["who"])

	holdAs(t, client, "a", time.Hour, living+":7", 1)
	var document map[string]any
	require.NoError(t, json.Unmarshal([]byte(unlock(exit.OK, "a", living+":7", "-o", "json")), &document))
	require.Equal(t, "web-3", document["host"])
	require.Equal(t, "web-3 billing pid 17", document["who"])
	require.Equal(t, 11.0, document["goes_on_seconds"])
}

func TestUnlockOfASemaphoreSaysWhoHasItsPermits(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	_, err := semaphore.New(client, "mail").TrySetPermits(t.Context(), 3)
	require.NoError(t, err)
	enter(t, client, dead, time.Hour, registry.About{Host: "batch-1", PID: 1, Program: "mailer", Language: "go"},
		registry.Thing{Kind: "semaphore", Key: "mail", Holds: 2, HeldSince: moment(t, client, time.Hour)})
	require.Contains(t, ends(t, srv, exit.Failed, "unlock", "mail", "--reason", "x", "--owner", "u:1"),
		"the permits of a semaphore have no owners; by their own words batch-1 mailer pid 1 has 2.")
}

// What others take by SET with NX and a TTL is a lock too.
func TestALockOfAnotherLibraryIsToldAsOne(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	require.NoError(t, client.Set(t.Context(), "theirs", "8f14e45f-ceea-4671-a3bd-0d6b4c1f2a3b", time.Hour).Err())
	require.NoError(t, client.Set(t.Context(), "number", "1", time.Hour).Err())
	require.NoError(t, client.Set(t.Context(), "text", "hello", 0).Err())
	for _, command := range []string{"inspect", "unlock"} {
		args := []string{command, "theirs"}
		if command == "unlock" {
			args = append(args, "--owner", "u:1", "--reason", "x")
		}
		require.Regexp(t, `looks like a lock by SET NX: it ends in \S+ and has the value "8f14e45f-ceea-4671-a3…"`, ends(t, srv, exit.WrongKind, args...))
	}
	require.Contains(t, ends(t, srv, exit.WrongKind, "inspect", "number"), "such as a lock by SET NX: it ends in")
	require.NotContains(t, ends(t, srv, exit.WrongKind, "inspect", "text"), "SET NX")
}

func TestUnlockWantsAnOwnerAReasonAndTheRightKind(t *testing.T) {
	srv := redistest.Mini(t)
	ends(t, srv, exit.Usage, "unlock", "x", "--owner", "u:1")
	ends(t, srv, exit.Usage, "unlock", "x", "--reason", "y")
	require.Contains(t, ends(t, srv, exit.Usage, "unlock", "x", "--reason", "y", "--ask", "1s", "--force"), "give --owner")
	ends(t, srv, exit.Usage, "unlock", "x", "--reason", "y", "--owner", "u:1", "--kind", "door")
	require.NoError(t, srv.Client(t).RPush(context.Background(), "list", "x").Err())
	ends(t, srv, exit.WrongKind, "unlock", "list", "--reason", "y", "--owner", "u:1")
	require.NotEmpty(t, operator())
}

// A semaphore or a latch is a number in Redis, of which nobody can tell what it is while nothing else is there. Whatever it is, nobody
// holds it, as nobody holds a lock that is free.
func TestUnlockOfWhatIsFreeAnswersTheSameForAllKinds(t *testing.T) {
	srv := redistest.Process(t)
	ctx, client := context.Background(), srv.Client(t)
	permits := permitsemaphore.New(client, "permits")
	_, err := permits.TrySetPermits(ctx, 2)
	require.NoError(t, err)
	_, err = semaphore.New(client, "semaphore").TrySetPermits(ctx, 2)
	require.NoError(t, err)
	_, err = countdownlatch.New(client, "latch").TrySetCount(ctx, 2)
	require.NoError(t, err)
	require.NoError(t, client.Set(ctx, "text", "hello", 0).Err())
	require.NoError(t, client.HSet(ctx, "hash", "of", "others").Err())
	for name, code := range map[string]int{
		"free": exit.Failed, "permits": exit.Failed, "semaphore": exit.Failed, "latch": exit.Failed,
		"text": exit.WrongKind, "hash": exit.WrongKind,
	} {
		for _, how := range [][]string{{"--owner", "u:1"}, {"--ask", "1s"}, {"--owner", "u:1", "--ask", "1s", "--force"}, {"--owner", "u:1", "-o", "json"}} {
			text := ends(t, srv, code, append([]string{"unlock", name, "--reason", "x"}, how...)...)
			if code == exit.Failed && how[len(how)-1] != "json" {
				require.Contains(t, text, "nobody holds it", name)
			}
		}
	}
	ends(t, srv, exit.Failed, "unlock", "permits", "--reason", "x", "--owner", "u:1", "--kind", "permit_semaphore")

	permit, err := permits.Acquire(ctx, 1)
	require.NoError(t, err)
	ends(t, srv, exit.Failed, "unlock", "permits", "--reason", "x", "--owner", "u:1")
	ends(t, srv, exit.OK, "unlock", "permits", "--reason", "x", "--owner", permit.IDs()[0])
	ends(t, srv, exit.Failed, "unlock", "permits", "--reason", "x", "--owner", permit.IDs()[0])
	require.ErrorIs(t, permit.Release(ctx), redlatch.ErrLost)
}
