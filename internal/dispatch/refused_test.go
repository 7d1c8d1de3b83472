package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

var errShut = errors.New("the circuit breaker is open")

// A breaker lets nothing through.
type breaker struct{}

func (breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

func (breaker) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { return errShut }
}

func (breaker) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return errShut }
}

// The client library says so of the pipeline only, and each command looks as if it had been answered by a 0.
func TestWhatNoConnectionTookIsNotTakenForExecuted(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		for name, refused := range map[string]struct {
			client *redis.Client
			class  outcome.Class
		}{
			"by the server, at the greeting": {srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "nobody", "wrong" }), outcome.Hopeless},
			"by a hook of the program":       {srv.Client(t), outcome.Unknown},
		} {
			if refused.class == outcome.Unknown {
				refused.client.AddHook(breaker{})
			}
			t.Run(name, func(t *testing.T) {
				counter := srv.Key(t, "counter")
				incr := func() redis.Cmder { return redis.NewIntCmd(t.Context(), "incr", counter) }

				pipe := refused.client.Pipeline()
				cmds := []redis.Cmder{incr(), incr()}
				require.NoError(t, pipe.BatchProcess(t.Context(), cmds...))
				require.Error(t, dispatch.Exec(t.Context(), pipe))
				for _, cmd := range cmds {
					require.Equal(t, refused.class, outcome.Of(cmd.Err()))
				}

				d := dispatch.New(refused.client, nil, linger(time.Second))
				results := make(chan error, 64)
				for range cap(results) { // more than there are leaders, so most leave in pipelines
					go func() { results <- d.Do(t.Context(), counter, incr(), dispatch.ToMaster) }()
				}
				for range cap(results) {
					require.Equal(t, refused.class, outcome.Of(<-results))
				}

				wait, err := d.Synced(t.Context(), counter, incr(), 1, time.Second)
				require.Equal(t, refused.class, outcome.Of(err))
				require.Equal(t, refused.class, outcome.Of(wait.Err()))
			})
		}
		require.Empty(t, srv.Keys(t))
	})
}

// Where commands have errors of their own, the others were executed.
func TestAnErrorOfOneCommandIsNotTheOthers(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, key := srv.Client(t), srv.Key(t, "text")
		require.NoError(t, client.Set(t.Context(), key, "text", 0).Err())
		pipe := client.Pipeline()
		wrong, right := pipe.Incr(t.Context(), key), pipe.StrLen(t.Context(), key)
		require.Error(t, dispatch.Exec(t.Context(), pipe))
		require.Error(t, wrong.Err())
		require.NoError(t, right.Err())
		require.EqualValues(t, 4, right.Val())
	})
}
