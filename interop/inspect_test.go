package interop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rwlock"
)

// Go tells who of Java holds a lock, how often, and who waits where that stands in Redis.
func TestGoTellsWhoHoldsAndWaitsInJava(t *testing.T) {
	w := singleWorld(t)
	for _, k := range append([]kind{{"read", reentrant | single}}, kinds...) {
		if k.has&single == 0 {
			continue
		}
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			cases.Add(1)
			java, golang, o := w.java(t), w.golang(t).(*goActor), w.object(k.kind)
			want := redlatch.Holder{Owner: strings.TrimSuffix(java.owner(o), ":write"), Holds: 1}
			require.NoError(t, java.lock(o, how{}))
			if k.has&reentrant != 0 {
				want.Holds++
				require.NoError(t, java.lock(o, how{}))
			}
			if k.kind == "read" || k.kind == "write" {
				want.Side = k.kind
			}
			look := func() redlatch.Info {
				info, err := golang.locker(o).(inspected).Inspect(t.Context())
				require.NoError(t, err)
				return info
			}
			info := look()
			require.Len(t, info.Holders, 1)
			require.Greater(t, info.Holders[0].TTL, 20*time.Second)
			info.Holders[0].TTL = 0
			require.Equal(t, []redlatch.Holder{want}, info.Holders)
			require.Greater(t, look().TTL, 20*time.Second)
			if strings.HasSuffix(k.kind, "fair") {
				waiter := w.java(t)
				waiting := []redlatch.Waiter{{Owner: waiter.owner(o)}} // it answers nothing while it waits
				got := start(func() error { return waiter.lock(o, how{}) })
				eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == 1 })
				require.Equal(t, waiting, look().Queue)
				require.NoError(t, java.unlock(o))
				if k.has&reentrant != 0 {
					require.NoError(t, java.unlock(o))
				}
				await(t, "the lock", got)
				require.Empty(t, look().Queue)
			}
		})
	}
	t.Run("a writer that reads", func(t *testing.T) {
		t.Parallel()
		cases.Add(1)
		java, golang := w.java(t), w.golang(t).(*goActor)
		read, write := sides(w.object("read"))
		require.NoError(t, java.lock(write, how{}))
		require.NoError(t, java.lock(read, how{}))
		info, err := rwlock.New(golang.client, read.name, golang.opts...).Inspect(t.Context())
		require.NoError(t, err)
		owner := java.owner(read)
		for i := range info.Holders {
			require.Positive(t, info.Holders[i].TTL)
			info.Holders[i].TTL = 0
		}
		require.ElementsMatch(t, []redlatch.Holder{{Owner: owner, Holds: 1, Side: "write"}, {Owner: owner, Holds: 1, Side: "read"}}, info.Holders)
	})
	t.Run("group", func(t *testing.T) {
		t.Parallel()
		cases.Add(1)
		java, golang, o := w.java(t), w.golang(t).(*goActor), w.object("group")
		require.NoError(t, java.lock(o, how{}))
		require.NoError(t, java.lock(o, how{}))
		info, err := multilock.NewGroup(golang.client, o.name, []string{"Mary_002", "Zoë"}, golang.opts...).Inspect(t.Context())
		require.NoError(t, err)
		require.Len(t, info.Holders, 1, "Zoë is free")
		require.Equal(t, java.owner(o), info.Holders[0].Owner)
		require.Equal(t, "Mary_002", info.Holders[0].Value)
		require.EqualValues(t, 2, info.Holders[0].Holds)
		require.InDelta(t, 30, info.Holders[0].TTL.Seconds(), 5)
	})
}
