package redistest

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A Sent is a hook of a client that counts the scripts which the client sends. What opens a connection is not counted, because it says
// nothing of a lock: the client opens one where a command finds none free. A script that the server does not know yet is sent
// again in full, and counts once.
type Sent struct{ atomic.Int64 }

func (s *Sent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *Sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.count(cmd)
		return next(ctx, cmd)
	}
}

func (s *Sent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		s.count(cmds...)
		return next(ctx, cmds)
	}
}

func (s *Sent) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if cmd.Name() == "evalsha" {
			s.Add(1)
		}
	}
}
