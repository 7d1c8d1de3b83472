package listing

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARequestIsNewOnceHoweverManyReportsFindIt(t *testing.T) {
	var r Listing
	first, second := asking{"lock", "u:1", false}, asking{"lock", "u:2", false}
	require.True(t, r.isNew(first, "at 5"))
	r.forgetBut([]string{"u:1"})
	require.False(t, r.isNew(first, "at 5"))
	require.True(t, r.isNew(first, "at 6"))
	require.True(t, r.isNew(second, "at 5"))
	r.forgetBut([]string{"u:2"})
	require.Len(t, r.said, 1, "nobody asks for the other any more")
}

func TestARequestThatCannotBeReadIsNewsOnceUntilThatChanges(t *testing.T) {
	var r Listing
	at, other := asking{"lock", "u:1", true}, asking{"lock", "u:2", true}
	wrong, refused, read := "WRONGTYPE", "NOPERM", ""
	require.True(t, r.isNew(at, wrong))
	require.False(t, r.isNew(at, "WRONGTYPE"))
	require.True(t, r.isNew(other, wrong))
	require.True(t, r.isNew(at, refused))
	require.True(t, r.isNew(at, wrong))
	r.isNew(at, read)
	require.True(t, r.isNew(asking{"lock", "u:1", false}, "at 5"), "the request itself is another matter")
	require.True(t, r.isNew(at, wrong))
	r.forgetBut([]string{"u:2"})
	require.False(t, r.isNew(other, wrong))
	require.True(t, r.isNew(at, wrong), "nobody asked for it in between")
}
