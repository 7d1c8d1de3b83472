package counter_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
)

// A straggler is a hook of a client: the first script does not arrive for now, the second is answered at once, and those
// after it take a second.
type straggler struct {
	first  []any
	sent   atomic.Int64
	before func() // the third
	refuse error  // what becomes of the third, and of those after it
}

func (*straggler) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *straggler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch n := s.sent.Add(1); {
		case n == 1:
			s.first = cmd.Args()
			cmd.SetErr(errLost)
			return errLost
		case n > 2:
			if s.before != nil {
				s.before()
			}
			time.Sleep(time.Second)
			if s.refuse != nil {
				cmd.SetErr(s.refuse)
				return s.refuse
			}
		}
		return next(ctx, cmd)
	}
}

func (*straggler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// An operation that found nothing to do has left no trace at the server, so a copy of its command that arrives after the
// answer would do something.
func TestWhatFoundNothingToDoDoesNothingAfterItHasSaidSo(t *testing.T) {
	trySet := func(l *lab) (bool, error) {
		return counter.Change(l.Context(), l.counter, func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
			return semaphore.TrySet(l.counter.Key, 7, 0, wake, call)
		})
	}
	prepare := func(l *lab) *straggler {
		done, err := trySet(l) // the scripts are known
		require.NoError(l, err)
		require.False(l, done)
		require.NoError(l, l.redis.ScriptLoad(l.Context(), lane.Fence("c", lane.Call{}).Cmder(l.Context(), true).Args()[1].(string)).Err())
		s := &straggler{}
		l.counter.Session.Client.(*redis.Client).AddHook(s)
		return s
	}
	arrive := func(l *lab, s *straggler) { // where there is no counter any more
		l.redis.Del(l.Context(), "c")
		_ = l.redis.Do(l.Context(), s.first...).Err() // as stale as the case may be
	}
	t.Run("the copy arrives after the answer", func(t *testing.T) {
		inLab(t, func(l *lab) {
			s := prepare(l)
			done, err := trySet(l)
			require.NoError(t, err)
			require.False(t, done)
			arrive(l, s)
			l.has("")
			time.Sleep(2 * time.Second) // what goes on in the background
		})
	})
	t.Run("the copy arrives before the answer is final", func(t *testing.T) {
		inLab(t, func(l *lab) {
			s := prepare(l)
			s.before = func() {
				s.before = nil
				arrive(l, s)
			}
			done, err := trySet(l)
			require.NoError(t, err)
			require.True(t, done)
			l.has("7")
			time.Sleep(2 * time.Second)
		})
	})
	t.Run("the copy that arrives before the answer is final counts, with its number", func(t *testing.T) {
		inLab(t, func(l *lab) {
			drain := func() (int64, error) {
				return counter.Change(l.Context(), l.counter, func(_ scripts.Wake, call lane.Call) scripts.Command[int64] {
					return semaphore.Drain(l.counter.Key, call)
				})
			}
			_, err := drain()
			require.NoError(t, err)
			s := prepare(l)
			s.before = func() {
				s.before = nil
				l.redis.Set(l.Context(), "c", 3, 0)
				_ = l.redis.Do(l.Context(), s.first...).Err()
			}
			drained, err := drain()
			require.NoError(t, err)
			require.EqualValues(t, 3, drained)
			l.has("0")
		})
	})
	t.Run("the answer cannot be made final", func(t *testing.T) {
		inLab(t, func(l *lab) {
			s := prepare(l)
			s.refuse = errLost
			_, err := trySet(l)
			require.ErrorIs(t, err, redlatch.ErrUncertain)
			time.Sleep(105 * time.Second)
		})
	})
}
