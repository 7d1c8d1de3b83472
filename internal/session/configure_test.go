package session_test

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestWhatIsSaidOfAClientOutlivesItsSession(t *testing.T) {
	client := idle(t)
	require.NoError(t, session.Configure(client, "here", session.Cluster{}))
	gone := func() weak.Pointer[session.Session] {
		s := session.Of(client, quick())
		require.NotEqual(t, s.Shard("a"), s.Shard("b"))
		return weak.Make(s)
	}()
	eventually(t, "the session is garbage", func() bool { return gone.Value() == nil })
	s := session.Of(client, quick())
	require.NotEqual(t, s.Shard("a"), s.Shard("b"), "the next one is a cluster's too")
	require.ErrorIs(t, session.Configure(client, "there", session.Label("x"), session.Sharding(true), session.Sharding(false)), errs.Invalid)
	runtime.KeepAlive(s)
}

func TestAConfigurationGoesWithItsClient(t *testing.T) {
	for label, make := range map[session.Label]func() (weak.Pointer[redis.Client], session.Client){
		"a pointer": func() (weak.Pointer[redis.Client], session.Client) {
			client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
			return weak.Make(client), client
		},
		"a wrapper that is a value": func() (weak.Pointer[redis.Client], session.Client) {
			client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
			return weak.Make(client), wrapper{client}
		},
	} {
		gone := func() weak.Pointer[redis.Client] {
			kept, client := make()
			require.NoError(t, session.Configure(client, "here", label, session.Linger(0)))
			require.True(t, session.IsSaid(label))
			session.Of(client, quick())
			require.NoError(t, kept.Value().Close())
			return kept
		}()
		eventually(t, "the client is garbage", func() bool { return gone.Value() == nil })
		eventually(t, "and so is what was said of it", func() bool { return !session.IsSaid(label) })
	}
}

// A part of a wrapper that is not a pointer tells it from another one.
type numbered struct {
	*redis.Client
	number int8
	inner  any
}

func TestEqualClientsHaveOneConfigurationAndOthersTheirOwn(t *testing.T) {
	a, b := idle(t), idle(t)
	same := [][2]session.Client{
		{a, a}, {wrapper{a}, wrapper{a}}, {numbered{a, 1, wrapper{b}}, numbered{a, 1, wrapper{b}}}, {numbered{a, 2, nil}, numbered{a, 2, nil}},
	}
	for i, clients := range same {
		require.NoError(t, session.Configure(clients[0], "here", session.Linger(time.Duration(i))))
		require.ErrorContains(t, session.Configure(clients[1], "there", session.Linger(-1)), "WithLinger")
	}
	for i, one := range []session.Client{b, wrapper{b}, numbered{a, 3, nil}, numbered{a, 1, wrapper{a}}, numbered{a, 1, a}, numbered{b, 1, wrapper{b}}} {
		require.NoError(t, session.Configure(one, "here", session.Linger(100*time.Hour)), "%d", i)
	}
}

func TestAContradictionNamesBothPlacesAndNothingOfItCounts(t *testing.T) {
	client := idle(t)
	require.NoError(t, session.Configure(client, "a.go:1", session.Label("x"), session.Registry{Prefix: "p"}))
	require.NoError(t, session.Configure(client, "b.go:2", session.Label("x")), "the same again")
	require.NoError(t, session.Configure(client, "c.go:3", session.Linger(time.Second)), "what was not said before")
	err := session.Configure(client, "d.go:4", session.Cluster{}, session.Registry{Off: true})
	require.ErrorIs(t, err, errs.Invalid)
	require.ErrorContains(t, err, "d.go:4")
	require.ErrorContains(t, err, "a.go:1")
	require.ErrorContains(t, err, "WithRegistry or WithoutRegistry")
	s := session.Of(client, quick())
	require.Equal(t, s.Shard("a"), s.Shard("b"), "it is no cluster's")
}

func TestConfigureComesBeforeTheFirstCommand(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	s := session.Of(client, quick())
	require.NoError(t, session.Configure(client, "a.go:1", session.Label("x")), "but it may come after New")
	require.NoError(t, s.Dispatch.Do(t.Context(), "k", redis.NewIntCmd(context.Background(), "incr", "k"), 0))
	require.NoError(t, session.Configure(client, "b.go:2", session.Label("x")), "the same again")
	err := session.Configure(client, "c.go:3", session.Linger(0))
	require.ErrorIs(t, err, errs.Invalid)
	require.ErrorContains(t, err, "Configure at c.go:3 comes after the first command")
}

func TestAClientThatCannotWorkIsNotConfigured(t *testing.T) {
	for _, client := range []session.Client{nil, (*redis.Client)(nil), unhashable{idle(t), nil}} {
		require.ErrorIs(t, session.Configure(client, "here", session.Label("x")), errs.Invalid)
	}
}
