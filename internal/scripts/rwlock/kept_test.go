package rwlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
)

// fields are those of the lock.
func (h *hall) fields() map[string]string {
	h.Helper()
	return h.client.HGetAll(h.Context(), key).Val()
}

// writing is a lock that an owner has for writing.
func writing(owner string) map[string]string {
	return map[string]string{"mode": "write", owner + rwlock.WriteSuffix: "1"}
}

func TestAWriterOfTheProcessHoldsWhereNobodyElseWaits(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "r0")
		for _, first := range []string{"w0", "r0"} {
			require.True(h, h.asks(h.client, first))
			h.heard()
			for range 2 { // the second is sent again, because the answer was lost
				reply := h.keeps(first, "next", first)
				require.True(h, reply.Freed && reply.Kept.Held, first)
				require.Equal(h, writing("next"), h.fields())
				require.Equal(h, []string{key}, h.client.Keys(h.Context(), "*").Val())
				require.Equal(h, lease, h.client.PTTL(h.Context(), key).Val().Round(lease/10))
			}
			require.Empty(h, h.heard(), "the lock was never free")
			require.True(h, does(h, h.client, rwlock.ReleaseWrite(key, "next"+rwlock.WriteSuffix, toQueue)))
			reply := h.keeps(first, "next", first)
			require.False(h, reply.Freed || reply.Kept.Held, "a copy that is executed when that one has left does nothing")
			require.Empty(h, h.client.Keys(h.Context(), "*").Val())
		}
	})
}

func TestAWriterOfTheProcessDoesNotHoldWhereOthersWait(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "r0", "w1", "r1")
		for _, first := range []string{"w0", "r0"} {
			for _, other := range []string{"w1", "r1"} {
				if first == "r0" && other == "r1" {
					continue // it is let in
				}
				require.True(h, h.asks(h.client, first))
				h.refused(other)
				reply := h.keeps(first, "next", first)
				require.True(h, reply.Told && !reply.Kept.Held)
				require.Empty(h, h.fields())
				require.Equal(h, []string{other + "*", first}, h.standing())
				require.NoError(h, h.client.FlushDB(h.Context()).Err())
			}
			require.True(h, h.asks(h.client, first))
			h.listens("a stranger", channel)
			h.heard()
			reply := h.keeps(first, "next", first)
			require.True(h, reply.Freed && !reply.Told && !reply.Kept.Held, "Redisson's waiters listen and stand in no queue")
			require.Len(h, h.heard(), 1)
			h.gone("a stranger")
		}
	})
}

func TestAWriterOfTheProcessDoesNotHoldBesideReaders(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("w0", "r0", "r1")
		require.True(h, h.asks(h.client, "r0"))
		require.True(h, h.asks(h.client, "r1"))
		require.False(h, h.keeps("r0", "next", "w0").Kept.Held)
		require.Equal(h, map[string]string{"mode": "read", "r1:1": "1"}, h.fields())
		require.NoError(h, h.client.FlushDB(h.Context()).Err())

		require.True(h, h.asks(h.client, "w0"))
		beside := rwlock.AcquireRead(key, "w0:1", lease, "w0:1"+rwlock.WriteSuffix)
		require.True(h, does(h, h.client, beside).Held)
		require.False(h, h.keeps("w0", "next", "w0").Kept.Held, "the writer reads on")
		require.Equal(h, map[string]string{"mode": "read", "w0:1": "1"}, h.fields())
		require.Positive(h, h.client.Exists(h.Context(), keys.ReadMarker(keys.Tag(key), "w0:1", 1)).Val())
	})
}
