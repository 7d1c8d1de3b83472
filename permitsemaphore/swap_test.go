package permitsemaphore_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A permit that is gone is the loss of the one that had it. The others of that holder move.
func TestOfSeveralPermitsThatAreSwappedOneIsGone(t *testing.T) {
	inStreet(t, 2, func(b *street) {
		p := acquire(b, b.s, 2)
		seen := p.IDs()
		w := acquiring(b.Context(), b.s, 1)
		b.settle()
		raw, err := hex.DecodeString(seen[0])
		require.NoError(b, err)
		require.EqualValues(b, 1, b.redis.ZRem(b.Context(), keys.PermitTimeouts("s"), raw).Val())
		require.ErrorIs(b, p.Release(b.Context()), redlatch.ErrLost)
		q := receive(b, w)
		require.True(b, q.Valid())
		require.NotContains(b, seen, id(q))
		require.NoError(b, q.Release(b.Context()))
		requireState(b, b.redis, "s", "1", 0)
	})
}

func TestASwapIsCarriedThroughIfAHookPanics(t *testing.T) {
	for _, executed := range []bool{false, true} {
		inStreet(t, 1, func(b *street) {
			p, w := b.holds()
			_ = id(p)
			b.client.AddHook(&redistest.Gate{Key: keys.PermitTimeouts("s"), Pass: func(nth int64, execute func() error) error {
				switch {
				case nth > 0:
					return execute()
				case executed:
					_ = execute()
				}
				panic("a hook of the client")
			}})
			require.Panics(b, func() { _ = p.Release(b.Context()) })
			require.NoError(b, receive(b, w).Release(b.Context()))
			eventually(b, "the permit is back", func() bool { v, n := state(b, b.redis, "s"); return v == "1" && n == 0 })
		})
	}
}

// The script that swaps the ids has one effect, however often it is sent and whatever becomes of its answers.
func TestALostAnswerToASwapLosesNoPermit(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		for _, f := range faults {
			for name, timeout := range map[string]time.Duration{"in time": 20 * time.Second, "uncertain": patience / 2} {
				t.Run(f.name+"/"+name, func(t *testing.T) {
					t.Parallel()
					s, key := r.semaphore(t, 1, redlatch.WithPoll(long), redlatch.WithReleaseTimeout(timeout))
					p := acquire(t, s, 1)
					old := id(p)
					w := acquiring(t.Context(), s, 1)
					eventually(t, "it stands in the row", func() bool { return r.direct.ZCard(t.Context(), keys.SemaphoreRow(key)).Val() == 1 })
					r.proxy.On(onCall(key), 1, f.action)
					if err := p.Release(t.Context()); err != nil {
						require.ErrorIs(t, err, redlatch.ErrUncertain)
					}
					q := receive(t, w)
					require.NotEqual(t, old, id(q))
					require.True(t, q.Valid())
					if err := q.Release(t.Context()); err != nil {
						require.ErrorIs(t, err, redlatch.ErrUncertain)
					}
					eventually(t, "the permit is back", func() bool { v, n := state(t, r.direct, key); return v == "1" && n == 0 })
				})
			}
		}
	})
}
