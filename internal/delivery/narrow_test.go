package delivery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

const (
	tryAgain = reply("TRYAGAIN Multiple keys request during rehashing of slot")
	noRight  = reply("NOPERM this user has no permissions to access one of the keys used as arguments") // Redis 7.0
	noKey    = reply("NOPERM No permissions to access a key")                                           // from 7.2 on
)

// wide is a command with three keys, of which its script can do without the last two.
func wide() scripts.Command[int64] {
	script := lane.Fence("k", lane.Call{Key: "l", Seq: 1}).Script()
	return scripts.Integer(script, []string{"key", "extra", "more"}, []any{"a"}, scripts.Int64).Needs(1)
}

func TestAScriptThatMayNotHaveAllOfItsKeysIsSentAtOnceWithThoseThatItNeeds(t *testing.T) {
	for _, refused := range []reply{tryAgain, noRight, noKey} {
		t.Run(string(refused), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, begin := newPlay(step{err: refused, took: rtt}, step{value: 7, took: rtt}), time.Now()
				reply, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), wide(), limit)
				require.NoError(t, err)
				require.EqualValues(t, 7, reply)
				require.Equal(t, []any{3, 1}, p.keys)
				require.Equal(t, delivery.Receipt{Sent: begin.Add(rtt)}, receipt, "what was refused because of its keys was not executed")
				require.Equal(t, 2*rtt, time.Since(begin))
			})
		})
	}
}

// The first send may have taken a lock, or passed it on.
func TestASendInDoubtStaysInDoubtWhenAnotherHasFewerKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{err: unknown}, step{err: tryAgain}, step{value: 7}), time.Now()
		_, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), wide(), limit)
		require.NoError(t, err)
		require.Equal(t, []any{3, 3, 1}, p.keys)
		require.Equal(t, delivery.Receipt{Sent: begin, Doubt: true}, receipt)
	})
}

func TestTheKeysThatAScriptNeedsAreAskedForAgainLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: tryAgain}, step{err: tryAgain}, step{value: 7})
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), wide(), limit)
		require.NoError(t, err)
		require.Equal(t, []any{3, 1, 1}, p.keys)
		p = newPlay(step{err: noRight})
		_, _, err = delivery.Deliver(t.Context(), p.dispatcher(), wide(), limit)
		require.ErrorIs(t, failure(t, err), noRight)
		require.Equal(t, []any{3, 1}, p.keys)
		p = newPlay(step{err: noRight})
		_, _, err = delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		require.ErrorIs(t, failure(t, err), noRight, "a command that has no key too many")
		require.Len(t, p.keys, 1)
	})
}

// A missing right is no matter of moments, as a slot that moves is.
func TestAMissingRightIsRememberedForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: tryAgain}, step{value: 7}, step{err: noRight}, step{value: 7})
		d := p.dispatcher()
		var told []error
		d.OnNarrow = func(err error) { told = append(told, err) }
		for range 3 {
			_, _, err := delivery.Deliver(t.Context(), d, wide(), limit)
			require.NoError(t, err)
		}
		require.Equal(t, []any{3, 1, 3, 1, 1}, p.keys)
		time.Sleep(time.Minute)
		_, _, err := delivery.Deliver(t.Context(), d, wide(), limit)
		require.NoError(t, err)
		require.Equal(t, 3, p.keys[5])
		require.Equal(t, []error{tryAgain}, told, "one line for both")
	})
}

// asking is a command whose script learns from the data which keys it needs.
func asking() scripts.Command[int64] {
	return wide().Whole().Finds(func(_ string, asked []string, _ int) ([]string, error) { return asked, nil })
}

func TestAScriptThatAsksForKeysIsSentAtOnceWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{err: reply("REDLATCH-KEYS a b"), took: rtt}, step{err: reply("REDLATCH-KEYS c"), took: rtt}, step{value: 7, took: rtt}), time.Now()
		reply, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), asking(), limit)
		require.NoError(t, err)
		require.EqualValues(t, 7, reply)
		require.Equal(t, []any{3, 5, 6}, p.keys)
		require.Equal(t, delivery.Receipt{Sent: begin.Add(2 * rtt)}, receipt, "a script that asks has done nothing")
		require.Equal(t, 3*rtt, time.Since(begin))
	})
}

// Others may change what the script finds, again and again.
func TestAScriptThatAsksAgainAndAgainIsSentAfterPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{err: reply("REDLATCH-KEYS a"), took: time.Millisecond}), time.Now()
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), asking(), limit)
		require.ErrorContains(t, failure(t, err), "REDLATCH-KEYS")
		require.Less(t, len(p.keys), 100)
		require.LessOrEqual(t, time.Since(begin), outage)
	})
}

func TestASlotThatMovesIsWaitedForWhereTheLastKeyIsForThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: tryAgain}, step{err: tryAgain}, step{value: 7}, step{err: noRight}, step{value: 7})
		d := p.dispatcher()
		for range 2 {
			_, _, err := delivery.Deliver(t.Context(), d, wide().Whole(), limit)
			require.NoError(t, err)
		}
		require.Equal(t, []any{3, 3, 3, 3, 2}, p.keys)
	})
}
