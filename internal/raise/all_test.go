package raise_test

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/raise"
)

func TestAllWaitsForEveryOneAndReturnsOnePanicAndLogsTheOthers(t *testing.T) {
	var ran atomic.Int64
	var log bytes.Buffer
	raised := raise.All(5, func(i int) {
		ran.Add(1)
		if i > 2 {
			panic(i)
		}
	}, slog.New(slog.NewTextHandler(&log, nil)))
	require.EqualValues(t, 5, ran.Load())
	require.NotNil(t, raised)
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("level=ERROR")))
	require.Nil(t, raise.All(3, func(int) {}, nil))
}
