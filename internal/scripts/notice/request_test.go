package notice_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

func TestARequestIsHeardAndClosed(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, key, ctx := srv.Client(t), srv.Key(t, "name"), t.Context()
		none, err := statetest.Send(ctx, client, notice.Hear(key, "u:1"))
		require.NoError(t, err)
		require.Nil(t, none)
		made, err := statetest.Send(ctx, client, notice.Ask(key, "u:1", "ada", "it hangs"))
		require.NoError(t, err)
		heard := func(at time.Time) bool {
			was, err := statetest.Send(ctx, client, notice.Heard(key, "u:1", at))
			require.NoError(t, err)
			return was
		}
		require.False(t, heard(made))
		for range 2 { // the first answer may be lost
			n, err := statetest.Send(ctx, client, notice.Hear(key, "u:1"))
			require.NoError(t, err)
			require.Equal(t, &notice.Notice{At: made, Who: "ada", Why: "it hangs"}, n)
		}
		require.True(t, heard(made))
		require.False(t, heard(made.Add(time.Millisecond)), "a later request")
		require.Nil(t, read(t, client, key, "u:1"), "nothing was taken by force")
		closed, err := statetest.Send(ctx, client, notice.Close(key, "u:1", made.Add(time.Millisecond)))
		require.NoError(t, err)
		require.False(t, closed, "there is another one")
		closed, err = statetest.Send(ctx, client, notice.Close(key, "u:1", made))
		require.NoError(t, err)
		require.True(t, closed)
		require.Zero(t, client.Exists(ctx, keys.Forced(key)).Val())
	})
}

func TestTheTextsOfANoticeAreShortLinesWhoeverHasWrittenThem(t *testing.T) {
	srv := redistest.Mini(t)
	client, key, ctx := srv.Client(t), srv.Key(t, "name"), t.Context()
	evil := "\x1b[2J\u202e\xff\r" + strings.Repeat("é", 1<<16)
	require.NoError(t, client.HSet(ctx, keys.Forced(key), "ask:u:1", "1764000000000\n"+evil+"\n"+evil+"\n"+evil).Err())
	n, err := statetest.Send(ctx, client, notice.Hear(key, "u:1"))
	require.NoError(t, err)
	for text, most := range map[string]int{n.Who: 64, n.Why: 256} {
		require.True(t, strings.HasPrefix(text, "?[2J?? éé"), "%q", text)
		require.LessOrEqual(t, len(text), most)
		require.Greater(t, len(text), most-3)
		require.True(t, utf8.ValidString(text))
	}
}
