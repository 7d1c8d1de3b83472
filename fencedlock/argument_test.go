package fencedlock_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

var errNoForm = errors.New("it has no form")

type formless struct{}

func (formless) MarshalBinary() ([]byte, error) { return nil, errNoForm }

type state string

func TestAGuardWritesWhatTheClientWouldWrite(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := t.Context(), srv.Client(t)
	guard := fencedlock.NewGuard(client, "lock")
	var (
		text, number, yes = "text", 7, true
		moment, pause     = time.Unix(1e9, 5), 1500 * time.Millisecond
	)
	for _, value := range []any{
		nil, text, &text, (*string)(nil), []byte("bytes"), []byte(nil), yes, &yes, (*bool)(nil), number, &number, (*int)(nil),
		int8(-1), uint8(200), uint64(1 << 63), uintptr(3), 1.5, float32(0.25), moment, &moment, (*time.Time)(nil), pause, &pause,
		(*time.Duration)(nil), net.IPv4(127, 0, 0, 1), &url.URL{Scheme: "redis", Host: "db"},
	} {
		require.NoError(t, client.Set(ctx, "plainly", value, 0).Err(), "%T", value)
		require.NoError(t, guard.For(token(1)).Set(ctx, "guarded", value), "%T", value)
		require.Equal(t, client.Get(ctx, "plainly").Val(), client.Get(ctx, "guarded").Val(), "%T %v", value, value)
	}
}

func TestAGuardRefusesWhatCannotBeSent(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := t.Context(), srv.Client(t)
	guard := fencedlock.NewGuard(client, "lock")
	for _, value := range []any{struct{ State string }{"paid"}, &struct{}{}, []string{"a"}, map[string]any{}, state("paid"), 1i, formless{}} {
		require.Error(t, client.Set(ctx, "plainly", value, 0).Err(), "%T", value)
		before := srv.Commands(t)
		require.ErrorIs(t, guard.For(token(1)).Set(ctx, "guarded", value), redlatch.ErrInvalid, "%T", value)
		require.Equal(t, before, srv.Commands(t))
	}
	require.ErrorIs(t, guard.For(token(1)).Set(ctx, "guarded", formless{}), errNoForm)
	require.EqualError(t, guard.For(token(1)).Do(ctx, "hset", "guarded", "state", state("paid")), `redlatch: invalid argument: guard "lock": `+
		"argument 2, a fencedlock_test.state, cannot be sent: make a string or a []byte of it, or have it implement encoding.BinaryMarshaler")
}

// A write shares a pipeline with whatever is sent at the same time.
func TestAValueThatCannotBeSentHarmsNobodyElse(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := t.Context(), srv.Client(t)
	guard := fencedlock.NewGuard(client, "lock")
	var others sync.WaitGroup
	for range 16 {
		pool := semaphore.New(client, "pool", redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventSettled {
				t.Error("the outcome of an operation was in doubt")
			}
		})))
		others.Go(func() {
			for range 50 {
				if _, err := pool.AddPermits(ctx, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		require.ErrorIs(t, guard.For(token(1)).Set(ctx, "guarded", struct{}{}), redlatch.ErrInvalid)
	}
	others.Wait()
}

// A counted is another value each time it is looked at.
type counted struct{ looks *atomic.Int64 }

func (c counted) MarshalBinary() ([]byte, error) {
	return strconv.AppendInt(nil, c.looks.Add(1), 10), nil
}

func TestAGuardedWriteThatIsSentAgainHasTheSameValue(t *testing.T) {
	client, proxy, guard := harmedGuard(t, 2*time.Second)
	lost := proxy.On(faultproxy.Named("EVALSHA"), 1, faultproxy.CloseBefore)
	require.NoError(t, guard.For(token(1)).Set(t.Context(), "state", counted{new(atomic.Int64)}))
	require.Equal(t, 1, lost.Hits())
	require.Equal(t, "1", client.Get(t.Context(), "state").Val())
}
