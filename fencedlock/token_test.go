package fencedlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

func TestTokenFromIsThatOfTheInnermostHoldThatHasOne(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := t.Context(), srv.Client(t)
	linger := briefly.Linger(0)
	_, ok := fencedlock.TokenFrom(ctx)
	require.False(t, ok, "ctx carries nothing")
	first := fencedlock.New(client, "first", linger)
	for range 4 { // the other lock counts by itself
		require.NoError(t, first.Do(ctx, func(context.Context) error { return nil }))
	}
	require.NoError(t, first.Do(ctx, func(ctx context.Context) error {
		token, ok := fencedlock.TokenFrom(ctx)
		require.True(t, ok)
		require.EqualValues(t, 5, token)
		return rlock.New(client, "plain", linger).Do(ctx, func(ctx context.Context) error {
			token, ok := fencedlock.TokenFrom(ctx)
			require.True(t, ok)
			require.EqualValues(t, 5, token, "a plain lock has none")
			return fencedlock.New(client, "second", linger).Do(ctx, func(ctx context.Context) error {
				token, ok := fencedlock.TokenFrom(ctx)
				require.True(t, ok)
				require.EqualValues(t, 1, token)
				_, ok = fencedlock.TokenFrom(redlatch.Detach(ctx))
				require.False(t, ok)
				return first.Do(ctx, func(inner context.Context) error { // a re-entry is issued a token
					token, _ := fencedlock.TokenFrom(inner)
					require.EqualValues(t, 6, token)
					return nil
				})
			})
		})
	}))
}

func TestTheTokenOfAHoldThatHasEndedIsStillItsToken(t *testing.T) {
	srv := redistest.Mini(t)
	ctx := t.Context()
	hold, err := fencedlock.New(srv.Client(t), "lock", briefly.Linger(0)).Lock(ctx)
	require.NoError(t, err)
	work := hold.Context(ctx)
	require.NoError(t, hold.Unlock(ctx))
	token, ok := fencedlock.TokenFrom(work)
	require.True(t, ok)
	require.EqualValues(t, 1, token)
}
