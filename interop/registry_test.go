package interop_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/registry"
)

// entersItself has a Redisson client keep an entry of the registry by the class that docs/redisson.md shows. The command says who its
// holder is then.
func entersItself(t *testing.T, w *world) {
	cases.Add(1)
	var uuid string
	t.Cleanup(func() { // runs when the client has been closed
		left, err := w.client.Exists(context.Background(), registry.Entry("", uuid)).Result()
		require.NoError(t, err)
		require.Zero(t, left, "its entry")
		_, err = w.client.ZScore(context.Background(), registry.Index("", registry.Bucket(uuid)), uuid).Result()
		require.ErrorIs(t, err, redisNil)
	})
	a, o := &javaActor{jvm: w.jvm, client: w.long + "-enters", thread: w.long + "-enters"}, w.object("lock")
	w.openClient(t, w.config, fields{"client": a.client})
	require.NoError(t, a.lock(o, how{}))
	uuid, _, _ = strings.Cut(a.owner(o), ":")
	require.NoError(t, w.jvm.call(fields{"op": "enter", "client": a.client, "program": "billing", "label": `blue "Zoë"` + strings.Repeat("!", 99)}, nil))

	holder := func() fleet.Holder {
		object, err := fleet.Get(t.Context(), w.client, redlatch.KindLock, o.name)
		require.NoError(t, err)
		require.Empty(t, object.Unreadable)
		require.Len(t, object.Holders, 1)
		return object.Holders[0]
	}
	eventually(t, "an entry", func() bool { return holder().Client != nil })
	first := *holder().Client
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, fleet.Client{
		ID: uuid, Host: host, PID: w.jvm.cmd.Process.Pid, Program: "billing", Label: `blue ?Zo??` + strings.Repeat("!", 54), Language: "java", Timeout: 30 * time.Second,
		Library: first.Library, Runtime: first.Runtime, Instance: first.Instance, Seen: first.Seen, LastSeen: first.LastSeen, Interval: first.Interval,
	}, first)
	require.Regexp(t, `^redisson \d+\.\d+\.\d+$`, first.Library)
	require.Regexp(t, `^java \d+`, first.Runtime)
	require.Len(t, first.Instance, 36)
	require.False(t, first.Silent())
	for _, key := range []string{registry.Index("", registry.Bucket(uuid)), registry.Entry("", uuid)} {
		require.InDelta(t, 630, w.client.PTTL(t.Context(), key).Val().Seconds(), 30, key)
	}

	who := fmt.Sprintf("%s billing pid %d (%s)", host, first.PID, first.Label)
	require.Regexp(t, regexp.MustCompile(`(?m)^`+o.name+` +lock +`+regexp.QuoteMeta(who)), w.redlatch(t, "ls"))
	var inspect struct{ Next struct{ State string } }
	w.document(t, &inspect, "inspect", o.name)
	require.Equal(t, "alive", inspect.Next.State)
	eventually(t, "the next report", func() bool { return holder().Client.Seen.After(first.Seen) })
	require.NoError(t, a.unlock(o))
}

func TestThePageShowsTheClassThatWritesAnEntry(t *testing.T) {
	page, err := os.ReadFile("../docs/redisson.md")
	require.NoError(t, err)
	class, err := os.ReadFile(javaFolder + "/src/main/java/peer/RegistryEntry.java")
	require.NoError(t, err)
	require.Contains(t, string(page), "```java\n"+strings.TrimPrefix(string(class), "package peer;\n\n")+"```\n")
}
