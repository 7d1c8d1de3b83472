package fencedlock_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// What the package comment guards lies in the slot of its guard. The names are read from the comment.
func TestTheExampleOfThePackageCommentWorksOnACluster(t *testing.T) {
	comment, err := os.ReadFile("fencedlock.go")
	require.NoError(t, err)
	name := regexp.MustCompile(`NewGuard\(rdb, "(.*?)"\)`).FindSubmatch(comment)
	key := regexp.MustCompile(`guard\.For\(hold\)\.Set\(ctx, "(.*?)", "(.*?)"\)`).FindSubmatch(comment)
	require.NotNil(t, name)
	require.NotNil(t, key)

	rdb := redistest.Cluster(t, 3, 0).Client(t)
	hold, err := fencedlock.New(rdb, string(name[1])).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, fencedlock.NewGuard(rdb, string(name[1])).For(hold).Set(t.Context(), string(key[1]), string(key[2])))
	require.Equal(t, string(key[2]), rdb.Get(t.Context(), string(key[1])).Val())
	require.NoError(t, hold.Unlock(t.Context()))
}
