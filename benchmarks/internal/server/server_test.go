package server

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestWhatClientsSendIsCountedAndWhatScriptsCallIsNot(t *testing.T) {
	srv := redistest.Process(t)
	s, err := Use("redis://" + srv.Addr)
	require.NoError(t, err)
	defer s.Stop()
	rdb := srv.Client(t)
	script := redis.NewScript(`redis.call('hset', KEYS[1], 'f', 'x') redis.call('hget', KEYS[1], 'f') return 1`)
	require.NoError(t, script.Run(t.Context(), rdb, []string{"k"}).Err())

	before, err := s.Counts()
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, script.Run(t.Context(), rdb, []string{"k"}).Err())
	}
	require.NoError(t, rdb.SetNX(t.Context(), "other", "x", 0).Err())
	after, err := s.Counts()
	require.NoError(t, err)

	require.EqualValues(t, 10, Between(before, after, nil).Commands)
	require.EqualValues(t, 11, Between(before, after, []string{"set", "setnx"}).Commands)
	require.Positive(t, Between(before, after, nil).In)
	spent := Between(before, after, nil).Micros
	require.Positive(t, spent)
	require.Greater(t, Between(before, after, []string{"hset"}).Micros, spent) // the script called it, and the time of the script includes it already
	require.Positive(t, Between(before, after, nil).Out)
}

func TestAServerOfOurOwnStartsAnswersAndEnds(t *testing.T) {
	redistest.Process(t) // skips where there is no redis-server
	s, err := Start()
	require.NoError(t, err)
	version, err := s.Version()
	require.NoError(t, err)
	require.NotEmpty(t, version)
	s.Stop()
	_, err = Use("redis://" + s.Addr)
	require.Error(t, err)
}

func TestForgetDeletesThePatternAndNothingElse(t *testing.T) {
	srv := redistest.Process(t)
	s, err := Use("redis://" + srv.Addr)
	require.NoError(t, err)
	defer s.Stop()
	rdb := srv.Client(t)
	require.NoError(t, rdb.MSet(t.Context(), "a:1", "x", "a:2", "x", "b:1", "x").Err())
	require.NoError(t, s.Forget("a:*"))
	require.Equal(t, []string{"b:1"}, rdb.Keys(t.Context(), "*").Val())
}
