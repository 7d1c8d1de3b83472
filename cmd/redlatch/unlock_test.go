package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/redistest"
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
		require.Contains(t, text, "is not held by x:1; it is held by "+hold.Owner())
		require.NoError(t, hold.Unlock(ctx))
		require.Contains(t, unlock(exit.Failed, hold.Owner()), "nobody holds it")

		hold, err = rlock.New(srv.Client(t), "orders:42").Lock(ctx)
		require.NoError(t, err)
		require.Equal(t, "orders:42: freed from "+hold.Owner()+"\n", unlock(exit.OK, hold.Owner()))
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
	ends(t, srv, exit.OK, "unlock", "permits", "--reason", "x", "--owner", permit.ID())
	ends(t, srv, exit.Failed, "unlock", "permits", "--reason", "x", "--owner", permit.ID())
}
