package session

import (
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
