package suite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A process believes the message that its waiter holds now. A user of Redis who may do nothing but publish, and see to which channels
// others listen, knows the process, but not the number of its candidate. That of a fair lock's waiter anybody can see: SECURITY.md says so.
func TestWhoMayOnlyPublishHasNoWaiterHold(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	mallory := srv.User(t, "resetkeys", "nocommands", "+publish", "+pubsub", "+hello", "+client")
	for what, lock := range map[string]func(c redlatch.Client, name string) redlatch.Locker{
		"rlock":      func(c redlatch.Client, name string) redlatch.Locker { return rlock.New(c, name) },
		"fencedlock": func(c redlatch.Client, name string) redlatch.Locker { return fencedlock.New(c, name) },
	} {
		t.Run(what, func(t *testing.T) {
			name := srv.Key(t, "forged")
			hold, err := lock(srv.Client(t), name).Lock(t.Context())
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := make(chan *redlatch.Hold, 1)
			waiting := srv.Client(t)
			go func() {
				h, _ := lock(waiting, name).Lock(ctx)
				got <- h
			}()
			row := keys.LockRow(name)
			redistest.Eventually(t, "the waiter stands in the queue", func() bool { return srv.Client(t).ZCard(ctx, row).Val() == 1 })
			channels, err := mallory.PubSubChannels(t.Context(), "*").Result()
			require.NoError(t, err)
			heard := int64(0)
			for _, channel := range channels {
				session, ours := strings.CutPrefix(channel, row+":")
				if !ours || session == "known" {
					continue
				}
				for n := range 200 {
					n, err := mallory.Publish(t.Context(), channel, fmt.Sprintf("%s:%d %d 999999 0", session, n, time.Now().Add(time.Hour).UnixMilli())).Result()
					require.NoError(t, err)
					heard += n
				}
			}
			require.EqualValues(t, 200, heard)
			select {
			case h := <-got:
				t.Fatalf("%s holds beside %s, with the token %d", h.Owner(), hold.Owner(), h.Token())
			case <-time.After(100 * time.Millisecond):
			}
			require.NoError(t, hold.Unlock(t.Context()))
			h := <-got // and the true one is believed
			require.NotNil(t, h)
			require.NoError(t, h.Unlock(t.Context()))
		})
	}
}
