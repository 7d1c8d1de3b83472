package multilock_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/spinlock"
)

// three is made anew for each call, as programs do.
func (p *pair) three(client *redis.Client) *multilock.Lock {
	return multilock.New([]redlatch.Locker{rlock.New(client, "b", quiet...), spinlock.New(client, "c", quiet...), rlock.NewNonReentrant(client, "a", quiet...)})
}

func (p *pair) held() string { return p.holder("a") + p.holder("b") + p.holder("c") }

// another is the client of another process.
func (p *pair) another() *redis.Client {
	options := *p.client.Options()
	client := redis.NewClient(&options)
	p.Cleanup(func() { _ = client.Close() })
	return client
}

func TestMembersOfOneServerCostACommandToTakeAndOneToGiveBack(t *testing.T) {
	inBubble(t, func(p *pair) {
		take(p.T, p.three(p.client), p.Context()).Unlock(p.Context()) // the server knows the scripts from here on
		p.sent.Store(0)
		hold := p.now(p.three(p.client))
		require.EqualValues(p, 1, p.sent.Load())
		time.Sleep(11 * time.Second) // a third of the watchdog timeout, and a little
		require.True(p, hold.Valid())
		p.sent.Store(0)
		time.Sleep(20 * time.Second)
		require.EqualValues(p, 2, p.sent.Load(), "a renewal is one command too")
		require.True(p, hold.Valid())
		require.NoError(p, hold.Unlock(p.Context()))
		require.EqualValues(p, 3, p.sent.Load())
		require.Empty(p, p.held())
	})
}

func TestARefusedMemberIsNamedAndNoneIsTaken(t *testing.T) {
	inBubble(t, func(p *pair) {
		busy := p.now(rlock.New(p.another(), "b", quiet...))
		_, err := p.three(p.client).TryLock(p.Context())
		require.ErrorIs(p, err, redlatch.ErrNotAcquired)
		p.sent.Store(0)
		_, err = p.three(p.client).TryLock(p.Context())
		require.ErrorContains(p, err, `lock "b" is held by somebody else, for another 30s unless renewed`)
		require.EqualValues(p, 1, p.sent.Load())
		require.Empty(p, p.holder("a")+p.holder("c"))
		next := p.waits(p.Context(), p.three(p.client))
		time.Sleep(time.Minute)
		require.Empty(p, p.holder("a")+p.holder("c"), "what is not needed yet is for others")
		require.NoError(p, busy.Unlock(p.Context()))
		require.NoError(p, (<-next).Unlock(p.Context()))
		require.Empty(p, p.held())
	})
}

// Other processes wait for one member each, in its row.
func TestTheWaitersOfEachMemberAreServed(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.both())
		var waits []<-chan *redlatch.Hold
		for _, name := range []string{"a", "b"} {
			waits = append(waits, p.waits(p.Context(), rlock.New(p.another(), name, quiet...)))
		}
		began := time.Now()
		require.NoError(p, hold.Unlock(p.Context()))
		for _, wait := range waits {
			require.NoError(p, (<-wait).Unlock(p.Context()))
		}
		require.Equal(p, began, time.Now(), "none had to poll")
	})
}

func TestALostMemberIsReportedAndTheOthersAreGivenBack(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.three(p.client))
		require.NoError(p, p.client.Del(p.Context(), "b").Err())
		err := hold.Unlock(p.Context())
		require.ErrorIs(p, err, redlatch.ErrLost)
		require.ErrorContains(p, err, `"b"`)
		require.Empty(p, p.held())
	})
}

// Neither by a waiter, who would be a second holder, nor in what Unlock says.
func TestALossIsFoundOutWhenTheStreakIsOver(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.both())
		next := p.waits(p.Context(), p.both())
		require.NoError(p, p.client.Del(p.Context(), "a").Err())
		theirs := p.now(rlock.New(p.another(), "a", quiet...))
		time.Sleep(3 * time.Millisecond)
		require.ErrorIs(p, hold.Unlock(p.Context()), redlatch.ErrLost)
		time.Sleep(time.Second)
		require.Empty(p, next)
		require.NoError(p, theirs.Unlock(p.Context()))
		require.NoError(p, (<-next).Unlock(p.Context()))
	})
}

// A faulty hook has the answers of some commands changed.
type faulty func(keys int, execute func() error) error

func (faulty) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f faulty) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !strings.HasPrefix(cmd.Name(), "eval") {
			return next(ctx, cmd)
		}
		err := f(cmd.Args()[2].(int), func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (faulty) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestALostReplyIsSettledForAllMembers(t *testing.T) {
	for what, losses := range map[string]int64{"once": 1, "until the call gives up": 1000} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(p *pair) {
				var losing atomic.Int64
				p.client.AddHook(faulty(func(_ int, execute func() error) error {
					err := execute()
					if err == nil && losing.Add(-1) >= 0 {
						return io.ErrUnexpectedEOF
					}
					return err
				}))
				take(p.T, p.three(p.client), p.Context()).Unlock(p.Context())
				losing.Store(losses)
				hold, err := p.three(p.client).Lock(p.Context(), redlatch.WithOutage(time.Second))
				if losses == 1 {
					require.NoError(p, err)
					losing.Store(1)
					require.NoError(p, hold.Unlock(p.Context()))
				} else {
					require.ErrorIs(p, err, redlatch.ErrUnavailable)
					losing.Store(0)
				}
				time.Sleep(10 * time.Second)
				require.Empty(p, p.held())
				hold = p.now(p.three(p.client))
				time.Sleep(2 * time.Minute) // what was in doubt is settled meanwhile
				require.True(p, hold.Valid())
				require.NoError(p, hold.Unlock(p.Context()))
			})
		})
	}
}

// Where a slot moves, or a right is missing, the scripts for one key each go on.
func TestWhereOneScriptIsRefusedEachMemberIsAskedForByItself(t *testing.T) {
	for _, refusal := range []string{"TRYAGAIN Multiple keys request during rehashing of slot", "NOPERM No permissions to access a key"} {
		t.Run(refusal, func(t *testing.T) {
			inBubble(t, func(p *pair) {
				p.client.AddHook(faulty(func(keys int, execute func() error) error {
					if keys > 1 {
						return replied(refusal)
					}
					return execute()
				}))
				began := time.Now()
				hold := p.now(p.both())
				waiter := p.waits(p.Context(), rlock.New(p.another(), "b", quiet...))
				require.NoError(p, hold.Unlock(p.Context()))
				require.NoError(p, (<-waiter).Unlock(p.Context()))
				require.Equal(p, began, time.Now())
				require.Empty(p, p.held())
				hold = p.now(p.both())
				require.NoError(p, p.client.Del(p.Context(), "a").Err())
				require.Error(p, hold.Unlock(p.Context()), "a was gone")
			})
		})
	}
}

type replied string

func (r replied) Error() string { return string(r) }
func (replied) RedisError()     {}

func TestMembersOfOtherKindsAreTakenByThemselvesAndInOrder(t *testing.T) {
	inBubble(t, func(p *pair) {
		lock := func() *multilock.Lock {
			return multilock.New([]redlatch.Locker{p.member("a"), p.member("b"), fairlock.New(p.client, "c", quiet...), p.member("d")})
		}
		take(p.T, lock(), p.Context()).Unlock(p.Context())
		p.sent.Store(0)
		hold := p.now(lock())
		require.EqualValues(p, 3, p.sent.Load(), "a with b, c, d")
		require.NoError(p, hold.Unlock(p.Context()))
		require.EqualValues(p, 5, p.sent.Load(), "c, and the others together")

		busy := p.now(fairlock.New(p.another(), "c", quiet...))
		next := p.waits(p.Context(), lock())
		require.Empty(p, p.holder("d"), "what comes later in the order is taken later")
		require.NoError(p, busy.Unlock(p.Context()))
		require.NoError(p, (<-next).Unlock(p.Context()))
	})
}

// All or nothing would never get them: there is always one that another process has.
func TestMembersThatAreOftenHeldAreTakenInOrder(t *testing.T) {
	inBubble(t, func(p *pair) {
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(p.Context())
		for i, name := range []string{"a", "b", "c", "a", "b", "c"} {
			lock := rlock.New(p.another(), name, quiet...)
			all.Go(func() {
				time.Sleep(time.Duration(i) * 3 * time.Millisecond)
				for ctx.Err() == nil {
					hold, err := lock.Lock(ctx)
					if err == nil {
						time.Sleep(10 * time.Millisecond)
						err = hold.Unlock(context.WithoutCancel(ctx))
					}
					if err != nil && !errors.Is(err, context.Canceled) {
						p.Error(err)
					}
				}
			})
		}
		time.Sleep(time.Second)
		began := time.Now()
		all3 := multilock.New([]redlatch.Locker{p.member("a"), p.member("b"), p.member("c")})
		require.NoError(p, p.now(all3).Unlock(p.Context()))
		require.Less(p, time.Since(began), 5*time.Second)
		cancel()
		all.Wait()
	})
}

// Two sets that overlap, in one process: neither of the two queues keeps the other from the member that both want.
func TestSetsThatOverlapDoNotStarveOneAnother(t *testing.T) {
	inBubble(t, func(p *pair) {
		left := func() *multilock.Lock { return multilock.New([]redlatch.Locker{p.member("a"), p.member("b")}) }
		right := func() *multilock.Lock { return multilock.New([]redlatch.Locker{p.member("b"), p.member("c")}) }
		ctx, cancel := context.WithCancel(p.Context())
		var (
			all   sync.WaitGroup
			turns [2]atomic.Int64
		)
		for i := range 8 {
			all.Go(func() {
				for ctx.Err() == nil {
					lock := left()
					if i%2 == 1 {
						lock = right()
					}
					hold, err := lock.Lock(ctx)
					if err != nil {
						return
					}
					time.Sleep(100 * time.Microsecond)
					turns[i%2].Add(1)
					if err := hold.Unlock(context.WithoutCancel(ctx)); err != nil {
						p.Error(err)
					}
				}
			})
		}
		time.Sleep(2 * time.Second)
		cancel()
		all.Wait()
		require.Greater(p, min(turns[0].Load(), turns[1].Load()), int64(100))
	})
}

// The documented rights do not include the keys of a row for every user; what is missing costs commands only.
func TestAUserWithoutTheKeysOfTheRowsLosesNoLock(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.User(t, "resetkeys", "~a", "~b")
	ctx := cancellable(t)
	lock := multilock.New([]redlatch.Locker{rlock.New(client, "a", quiet...), rlock.New(client, "b", quiet...)})
	for range 3 {
		require.NoError(t, take(t, lock, ctx).Unlock(ctx))
	}
	require.Empty(t, srv.Keys(t))
}
