package views

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestALiveViewHasClientsReportAndAViewerWithoutTheRightSaysThatFiguresAreOlder(t *testing.T) {
	srv := redistest.Process(t)
	admin := srv.Client(t)
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "viewer", "on", ">secret", "~*", "resetchannels",
		"-@all", "+@read", "+@connection", "+time", "+pubsub", "+info").Err())
	viewer := srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "viewer", "secret" })
	frame := func(w *Watch) string {
		top, err := w.Frame(t.Context())
		require.NoError(t, err)
		return strings.Join(top.Lines(&terminal.Output{}), "\n")
	}
	require.NotContains(t, frame(&Watch{Client: viewer}), "figures", "one frame waits for no report")
	require.Empty(t, srv.Keys(t))
	w := &Watch{Client: viewer, Hurry: &Hurry{Client: viewer, Registry: "app:"}}
	const says = "figures may be 5 s old or more: the user may not write to app:redlatch_client_watched:*"
	require.Contains(t, frame(w), says)
	ls, err := List(t.Context(), viewer, "", w.Hurry)
	require.NoError(t, err)
	require.Contains(t, strings.Join(ls.Lines(&terminal.Output{}), "\n"), says)
	require.NoError(t, admin.ACLLogReset(t.Context()).Err())
	require.Contains(t, frame(w), says)
	refused, err := admin.ACLLog(t.Context(), 10).Result()
	require.NoError(t, err)
	require.Empty(t, refused, "it is not tried with each frame")

	require.NotContains(t, frame(&Watch{Client: admin, Hurry: &Hurry{Client: admin}}), "figures")
	require.Len(t, srv.Keys(t), 64)
}
