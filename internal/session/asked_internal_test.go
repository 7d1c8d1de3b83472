package session

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARequestIsNewOnceHoweverManyReportsFindIt(t *testing.T) {
	var r requests
	made := time.UnixMilli(5)
	require.True(t, r.isNew("u:1", made))
	r.keep([]string{"u:1"})
	require.False(t, r.isNew("u:1", made))
	require.True(t, r.isNew("u:1", made.Add(1)))
	require.True(t, r.isNew("u:2", made))
	r.keep([]string{"u:2"})
	require.Len(t, r.told, 1, "nobody asks for the other any more")
}

func TestARequestThatCannotBeReadIsNewsOnceUntilThatChanges(t *testing.T) {
	var r requests
	at, other := unread{"lock", "u:1"}, unread{"lock", "u:2"}
	wrong, refused := errors.New("WRONGTYPE"), errors.New("NOPERM")
	require.True(t, r.failed(at, wrong))
	require.False(t, r.failed(at, errors.New("WRONGTYPE")))
	require.True(t, r.failed(other, wrong))
	require.True(t, r.failed(at, refused))
	require.True(t, r.failed(at, wrong))
	require.False(t, r.failed(at, nil))
	require.True(t, r.failed(at, wrong))
	r.keep([]string{"u:2"})
	require.False(t, r.failed(other, wrong))
	require.True(t, r.failed(at, wrong), "nobody asked for it in between")
}
