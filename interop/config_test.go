package interop_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// What can be configured on both sides has to be configured the same.

func TestANameMapperOfBothSidesMeansTheSameKeys(t *testing.T) {
	w := singleWorld(t)
	mapped := *w
	mapped.long = w.long + "-mapped"
	w.openClient(t, w.config, fields{"client": mapped.long, "prefix": "app:"})
	mapped.opts = append(mapped.opts, redlatch.WithNameMapper(func(name string) string { return "app:" + name }))
	for _, k := range kinds {
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, &mapped, func(t *testing.T, first, second actor) {
				o := mapped.object(k.kind)
				wakeUp(t, &mapped, o, first, second)
				// Who does not map the name has another object.
				require.NoError(t, first.tryLock(o, 0))
				plain := w.java(t)
				require.NoError(t, plain.tryLock(o, 0))
				require.NoError(t, plain.unlock(o))
				require.NoError(t, first.unlock(o))
			})
		})
	}
	readersAndWriter(t, &mapped)
	counterWakeUps(t, &mapped)
}

// Everything but the fields of a group is text whatever the codec, so a Java process may have Redisson's usual one.
func TestTheCodecOfJavaMatters(t *testing.T) {
	w := singleWorld(t)
	w.openClient(t, w.config, fields{"client": w.long + "-kryo", "codec": "default"})
	w.long += "-kryo"
	for _, k := range kinds {
		if k.kind == "group" {
			continue
		}
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) { wakeUp(t, w, w.object(k.kind), first, second) })
		})
	}
	readersAndWriter(t, w)
	counterWakeUps(t, w)
	t.Run("not for the values of a group", func(t *testing.T) {
		t.Parallel()
		cases.Add(1)
		group := w.object("group")
		require.NoError(t, w.java(t).lock(group, how{}))
		require.NoError(t, w.golang(t).tryLock(group, 0), "to Go they are other values")
	})
}

// Each side keeps what it holds for its own time and leaves the other's alone.
func TestTheWatchdogTimeoutsOfTheSidesMayDiffer(t *testing.T) {
	w := singleWorld(t)
	for name, makers := range map[string][2]func(*testing.T) actor{
		"Java's is longer": {w.java, w.quickGo}, "Go's is longer": {w.golang, w.quickJava},
	} {
		long, short := makers[0], makers[1]
		for _, k := range kinds {
			t.Run(name+" "+k.kind, func(t *testing.T) {
				t.Parallel()
				for _, pair := range [][2]actor{{long(t), short(t)}, {short(t), long(t)}} {
					t.Run(pair[0].side()+" holds", func(t *testing.T) {
						t.Parallel()
						cases.Add(1)
						o := w.object(k.kind)
						require.NoError(t, pair[0].lock(o, how{}))
						require.ErrorIs(t, pair[1].lock(o, how{wait: 2 * shortWatchdog}), errBusy)
						require.NoError(t, pair[0].unlock(o))
						require.NoError(t, pair[1].lock(o, how{}))
						require.NoError(t, pair[1].unlock(o))
					})
				}
			})
		}
		t.Run(name+" readers together", func(t *testing.T) {
			t.Parallel()
			cases.Add(1)
			for _, pair := range [][2]actor{{long(t), short(t)}, {short(t), long(t)}} {
				read, write := sides(w.object("read"))
				require.NoError(t, pair[0].lock(read, how{}))
				require.NoError(t, pair[1].lock(read, how{}))
				writer := w.golang(t)
				require.ErrorIs(t, writer.lock(write, how{wait: 2 * shortWatchdog}), errBusy)
				require.NoError(t, pair[0].unlock(read))
				require.ErrorIs(t, writer.lock(write, how{wait: 2 * shortWatchdog}), errBusy)
				require.True(t, pair[1].held(read))
				require.NoError(t, pair[1].unlock(read))
				require.NoError(t, writer.tryLock(write, 0))
				require.NoError(t, writer.unlock(write))
			}
		})
	}
}

func TestOnAClusterWithoutShardedMessagesTheOthersAreUsedByBothSides(t *testing.T) {
	w := clusterWorld(t)
	w.shards = false
	w.openClient(t, w.config, fields{"client": w.long + "-plain", "sharded": "OFF"})
	w.long += "-plain"
	another := w.another
	w.another = func(t testing.TB) redis.UniversalClient {
		client := another(t)
		require.NoError(t, redlatch.Configure(client, redlatch.WithShardedPubSub(false)))
		return client
	}
	w.goClient = w.another(t)
	for _, kind := range []string{"lock", "fair", "write", "group"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) { wakeUp(t, w, w.object(kind), first, second) })
		})
	}
	counterWakeUps(t, w)
}
