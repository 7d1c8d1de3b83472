package redistest

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A Gate is a hook of a client that says what becomes of each script that is sent by itself.
type Gate struct {
	Sent atomic.Int64
	Key  string // of the scripts that it is for

	// Pass is told how many scripts were sent before. It executes the script, or answers in its place. nil: all are executed.
	Pass func(nth int64, execute func() error) error
}

// DialHook lets dials through.
func (*Gate) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook has Pass decide.
func (g *Gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if g.Pass == nil || !strings.HasPrefix(cmd.Name(), "eval") || !slices.Contains(cmd.Args(), any(g.Key)) {
			return next(ctx, cmd)
		}
		err := g.Pass(g.Sent.Add(1)-1, func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook lets pipelines through.
func (*Gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
