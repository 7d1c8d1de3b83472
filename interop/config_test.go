package interop_test

import (
	"testing"

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
}

func TestOnAClusterWithoutShardedMessagesTheOthersAreUsedByBothSides(t *testing.T) {
	w := clusterWorld(t)
	w.shards = false
	w.openClient(t, w.config, fields{"client": w.long + "-plain", "sharded": "OFF"})
	w.long += "-plain"
	w.opts = append(w.opts, redlatch.WithShardedPubSub(false))
	for _, kind := range []string{"lock", "fair", "write", "group"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) { wakeUp(t, w, w.object(kind), first, second) })
		})
	}
}
