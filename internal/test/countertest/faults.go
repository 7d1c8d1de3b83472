package countertest

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A meddler is a hook of a client. It meddles with as many of the next scripts as next says.
type meddler struct {
	next   atomic.Int64
	meddle func(execute func() error) error
}

func (*meddler) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *meddler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !strings.HasPrefix(cmd.Name(), "eval") || m.next.Add(-1) < 0 {
			return next(ctx, cmd)
		}
		err := m.meddle(func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (*meddler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// prompt makes a counter with n raises left. Its client has the meddler as a hook, and the server knows all scripts already.
func (l *lab) prompt(n int64) (Counter, *meddler) {
	l.shut(n + 3)
	m := &meddler{}
	l.client.AddHook(m)
	c := l.counter(l.client)
	for range 3 {
		require.NoError(l, c.Raise(l.Context()))
	}
	if !l.Shared {
		require.NoError(l, c.Wait(l.Context()))
	}
	return c, m
}

// A program may recover from it, and what became of the script is not known.
func hookPanics(l *lab) {
	c, m := l.prompt(2)
	for _, executed := range []bool{false, true} {
		m.meddle = func(execute func() error) error {
			if executed {
				_ = execute()
			}
			panic("a hook of the client")
		}
		for what, call := range map[int64]func(){
			0: func() { _ = c.Wait(context.Background()) },
			1: func() { _ = c.Raise(context.Background()) },
		} {
			before := l.value()
			time.Sleep(20 * time.Millisecond) // no worker is left that could take the command along
			m.next.Store(1)
			require.Panics(l, call, "executed: %v, raise: %v", executed, what)
			time.Sleep(4 * time.Second) // a pause and an attempt at most
			require.Equal(l, l.Left(before, what), l.value(), "executed: %v, raise: %v", executed, what)
		}
	}
}

// A script whose reply is lost is sent again, and one that is lost itself.
func lostReplies(l *lab) {
	c, m := l.prompt(8)
	for lost := range int64(4) {
		for _, executed := range []bool{false, true} {
			m.meddle = func(execute func() error) error {
				if executed {
					_ = execute()
				}
				return io.ErrUnexpectedEOF
			}
			before := l.value()
			m.next.Store(lost)
			require.NoError(l, c.Raise(l.Context()))
			require.Equal(l, l.Left(before, 1), l.value(), "lost: %d, executed: %v", lost, executed)
			if l.Shared {
				continue
			}
			m.next.Store(lost)
			require.NoError(l, c.Wait(l.Context()))
			require.Equal(l, before, l.value(), "lost: %d, executed: %v", lost, executed)
		}
	}
	m.next.Store(0)
	time.Sleep(2 * time.Second) // what may come late is barred
}
