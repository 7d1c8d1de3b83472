package entry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/entry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

func (b *bench) ask(identity string, wait time.Duration) entry.Asking {
	b.Helper()
	a, err := statetest.Send(b.Context(), b.rdb, entry.Ask(b.names, identity, wait))
	require.NoError(b, err)
	return a
}

func TestAReportAnswersOfWhomSomebodyAsks(t *testing.T) {
	each(t, func(b *bench) {
		require.Zero(b, b.ask("u:1", time.Minute), "there is no entry")
		require.Empty(b, b.write(whole).Asked)
		asking := b.ask("u:1", time.Minute)
		require.InDelta(b, b.now()+60_000, asking.Until, 10_000)
		for range 2 { // also if the entry is written anew
			require.Equal(b, []string{"u:1"}, b.write(whole).Asked)
		}
		unask := func(until int64) bool {
			gone, err := statetest.Send(b.Context(), b.rdb, entry.Unask(b.names, "u:1", until))
			require.NoError(b, err)
			return gone
		}
		require.False(b, unask(asking.Until+1), "somebody else has asked since")
		require.Equal(b, []string{"u:1"}, b.write(whole).Asked)
		require.True(b, unask(asking.Until))
		require.Empty(b, b.write(whole).Asked)

		require.NoError(b, b.rdb.HSet(b.Context(), b.names.Asked, "u:2", b.now()-1, "u:3", "never", strings.Repeat("x", 1000), b.now()+60_000).Err())
		reply := b.write(whole)
		require.Empty(b, reply.Asked, "one is over, one makes no sense, one is too long")
		require.True(b, reply.Nonsense)
		require.NoError(b, b.rdb.HDel(b.Context(), b.names.Asked, "u:3", strings.Repeat("x", 1000)).Err())
		require.False(b, b.write(whole).Nonsense, "what is over makes sense")
		b.ask("u:4", time.Minute)
		_, err := statetest.Send(b.Context(), b.rdb, entry.Remove(b.names))
		require.NoError(b, err)
		require.Empty(b, b.srv.Keys(b))
	})
}

func TestAskingsAreFew(t *testing.T) {
	srv := redistest.Mini(t)
	b := &bench{t, srv, srv.Client(t), entry.Names{Index: "{b}i", Entry: "{b}e", Asked: "{b}a", Watched: "{b}w", UUID: "u"}}
	b.write(whole)
	for i := range 50 {
		require.False(t, b.ask(fmt.Sprint("u:", i), time.Minute).Crowded)
	}
	require.True(t, b.ask("u:50", time.Minute).Crowded)
	require.False(t, b.ask("u:49", time.Minute).Crowded)
	for i := range 60 {
		require.NoError(t, b.rdb.HSet(t.Context(), b.names.Asked, fmt.Sprint("f:", i), b.now()+60_000).Err())
	}
	reply := b.write(whole)
	require.Empty(t, reply.Asked, "somebody has forged too many")
	require.True(t, reply.Nonsense)
	require.EqualValues(t, 110, b.rdb.HLen(t.Context(), b.names.Asked).Val())
}

func TestAKeyOfAnotherTypeAtThePlaceOfTheAskedIsLeftAndKeepsNoReportBack(t *testing.T) {
	each(t, func(b *bench) {
		b.write(whole)
		foreign := func() []string {
			list, err := b.rdb.LRange(b.Context(), b.names.Asked, 0, -1).Result()
			require.NoError(b, err)
			return list
		}
		require.NoError(b, b.rdb.RPush(b.Context(), b.names.Asked, "theirs").Err())
		require.Equal(b, entry.Reply{Written: true, Entries: 1, Nonsense: true}, b.write(func(r *entry.Report) { r.Removed = []string{things[0].Field()} }))
		require.NotContains(b, b.fields(), things[0].Field())
		require.Equal(b, entry.Asking{Foreign: true}, b.ask("u:1", time.Minute))
		gone, err := statetest.Send(b.Context(), b.rdb, entry.Remove(b.names))
		require.NoError(b, err)
		require.True(b, gone)
		require.Equal(b, []string{"theirs"}, foreign())
	})
}
