package suite_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// clientLog is what docs/operating.md says that sends the lines of go-redis to the program's logger.
type clientLog struct{ *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.WarnContext(ctx, fmt.Sprintf(format, v...))
}

// A lockedBuffer takes lines from several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestTheClientsLogLinesGoWhereTheyAreSent(t *testing.T) {
	defer logging.Enable()
	srv := redistest.Process(t)
	client := srv.Client(t, func(o *redis.Options) { o.DialerRetries, o.DialTimeout = 1, time.Second })
	srv.Kill()
	try := func() error {
		_, err := rlock.New(client, "lock").TryLock(t.Context())
		return err
	}

	var own lockedBuffer
	redis.SetLogger(clientLog{slog.New(slog.NewTextHandler(&own, nil))})
	require.Error(t, try())
	require.Contains(t, own.String(), "level=WARN")
	require.Contains(t, own.String(), "redis: connection pool: failed to dial after 1 attempts")

	logging.Disable()
	before := own.String()
	require.Error(t, try())
	require.Equal(t, before, own.String())
}
