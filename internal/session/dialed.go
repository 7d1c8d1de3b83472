package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
)

// A dialed hears of the connections that a client makes. The client library tries several times, for half a
// second, before it answers the command that wants one. A call whose context ends before that would not know
// what is wrong.
type dialed struct{ last atomic.Pointer[undialed] }

// An undialed is a connection that could not be made.
type undialed struct {
	err error
	at  time.Time
}

// recent is for how long a connection that could not be made tells of the call that ends now.
const recent = time.Second

// Undialed is the error with which the client has failed to connect to its server, just now and for the last
// time; nil if it has not. It is not known of the clients of a cluster, which have several servers.
func (s *Session) Undialed() error {
	if s.dialed == nil {
		return nil
	}
	if last := s.dialed.last.Load(); last != nil && clock.Now().Sub(last.at) < recent {
		return delivery.Unavailable(last.err)
	}
	return nil
}

// Dialing is an error that a command had because its time was over, with what Undialed says. Any other error
// knows more.
func (s *Session) Dialing(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) ||
		errors.As(err, new(*net.OpError)) {
		return err
	}
	if found := s.Undialed(); found != nil {
		return fmt.Errorf("%w (the last attempt failed: %w)", err, found)
	}
	return err
}

// listen returns the dialed of a client, nil for one that takes no hook. The client's first session makes it,
// and later ones find it.
func (r *record) listen(client Client) *dialed {
	if hooked, ok := client.(interface{ AddHook(redis.Hook) }); ok && r.dialed == nil {
		r.dialed = &dialed{}
		hooked.AddHook(r.dialed)
	}
	return r.dialed
}

// DialHook hears how a connection was made. One that the end of a call has cut off says nothing about the
// server.
func (d *dialed) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil && ctx.Err() == nil {
			d.last.Store(&undialed{err, clock.Now()})
		} else if err == nil && d.last.Load() != nil {
			d.last.Store(nil)
		}
		return conn, err
	}
}

// ProcessHook leaves commands alone.
func (*dialed) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook leaves pipelines alone.
func (*dialed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
