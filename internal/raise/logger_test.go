package raise_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/raise"
)

// A bomb is a handler that panics in the method of this name.
type bomb struct{ in string }

func (b bomb) goes(off string) {
	if b.in == off {
		panic("boom in " + off)
	}
}

func (b bomb) Enabled(context.Context, slog.Level) bool { b.goes("Enabled"); return true }
func (b bomb) Handle(context.Context, slog.Record) error {
	b.goes("Handle")
	return nil
}
func (b bomb) WithAttrs([]slog.Attr) slog.Handler { b.goes("WithAttrs"); return b }
func (b bomb) WithGroup(string) slog.Handler      { b.goes("WithGroup"); return b }

// stderr returns what fn writes to standard error.
func stderr(t *testing.T, fn func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	before := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = before }()
	fn()
	require.NoError(t, file.Close())
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return string(text)
}

func TestAPanicOfALogHandlerGoesToStandardError(t *testing.T) {
	for _, method := range []string{"Enabled", "Handle", "WithAttrs", "WithGroup"} {
		text := stderr(t, func() {
			raise.Logger(slog.New(bomb{method})).With("lock", "orders:42").WithGroup("g").Warn("redlatch: lock lost", "n", 1)
		})
		require.Contains(t, text, "boom in "+method)
		require.Contains(t, text, "logger_test.go", "the place is there")
		if method == "Handle" {
			require.Contains(t, text, `level=WARN msg="redlatch: lock lost" lock=orders:42 g.n=1`, "and the line that could not be written")
		}
	}
}

func TestALogHandlerThatDoesNotPanicWritesWhatItWrote(t *testing.T) {
	var plain, kept bytes.Buffer
	options := &slog.HandlerOptions{Level: slog.LevelWarn, AddSource: true, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	its := slog.New(slog.NewTextHandler(&plain, options))
	ours := raise.Logger(slog.New(slog.NewTextHandler(&kept, options)))
	require.Same(t, ours, raise.Logger(ours))
	for _, log := range []*slog.Logger{its, ours} {
		log = log.With("lock", "a")
		log.Info("not wanted")
		log.WithGroup("g").Warn("wanted", "n", 1)
	}
	require.NotEmpty(t, plain.String())
	require.Equal(t, plain.String(), kept.String())
	require.Nil(t, raise.Logger(nil))
}
