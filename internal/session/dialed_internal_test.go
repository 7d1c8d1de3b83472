package session

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAConnectionThatTheEndOfACallHasCutOffSaysNothing(t *testing.T) {
	d, refused := &dialed{}, errors.New("connection refused")
	dial := func(ctx context.Context, err error) {
		_, _ = d.DialHook(func(context.Context, string, string) (net.Conn, error) { return nil, err })(ctx, "tcp", "nowhere")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	dial(ended, context.Canceled)
	require.Nil(t, d.last.Load())
	dial(t.Context(), refused)
	require.ErrorIs(t, d.last.Load().err, refused)
	dial(ended, context.Canceled)
	require.ErrorIs(t, d.last.Load().err, refused, "it is not over by that")
	dial(t.Context(), nil)
	require.Nil(t, d.last.Load())
}
