package multilock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/spinlock"
)

// A pair is two locks of one server on fake time, as one.
type pair struct {
	*testing.T
	client *redis.Client
	holder func(key string) string // empty where there is none
	sent   redistest.Sent
}

func inBubble(t *testing.T, test func(p *pair)) {
	t.Helper()
	redistest.Bubble(t, func(t *testing.T) {
		server, _ := redistest.InMemory(t)
		p := &pair{T: t, client: redis.NewClient(redistest.InMemoryOptions(server))}
		t.Cleanup(func() { _ = p.client.Close() })
		p.client.AddHook(&p.sent)
		p.holder = func(key string) string {
			if fields, err := server.HKeys(key); err == nil && len(fields) == 1 {
				return fields[0]
			}
			return ""
		}
		test(p)
	})
}

func (p *pair) member(name string) *rlock.Lock { return rlock.New(p.client, name, quiet...) }

// both is made anew for each call, as programs do.
func (p *pair) both() *multilock.Lock {
	return multilock.New([]redlatch.Locker{p.member("b"), p.member("a")})
}

func (p *pair) now(lock redlatch.Locker) *redlatch.Hold {
	hold, err := lock.Lock(p.Context())
	require.NoError(p, err)
	return hold
}

// waits begins a wait and returns when it has nothing to do any more.
func (p *pair) waits(ctx context.Context, lock redlatch.Locker, opts ...redlatch.Option) <-chan *redlatch.Hold {
	got := make(chan *redlatch.Hold, 1)
	go func() {
		hold, _ := lock.Lock(ctx, opts...)
		got <- hold
	}()
	synctest.Wait()
	return got
}

func TestWaitersOfOneProcessHandAllMembersOnWithoutACommand(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.both())
		a, b, sent := p.holder("a"), p.holder("b"), p.sent.Load()
		var queue []<-chan *redlatch.Hold
		for range 3 {
			queue = append(queue, p.waits(p.Context(), p.both()))
		}
		for _, next := range queue { // in the order in which they came
			require.Empty(p, next)
			require.NoError(p, hold.Unlock(p.Context()))
			hold = <-next
			require.True(p, hold.Valid())
		}
		require.Equal(p, sent, p.sent.Load())
		time.Sleep(time.Minute) // each member is renewed as any other
		require.True(p, hold.Valid())
		require.Equal(p, [2]string{a, b}, [2]string{p.holder("a"), p.holder("b")})
		require.NoError(p, hold.Unlock(p.Context()))
		require.Empty(p, p.holder("a")+p.holder("b"))
	})
}

func TestAProcessHandsTheMembersOnForABoundedTime(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.both())
		second, third := p.waits(p.Context(), p.both()), p.waits(p.Context(), p.both())
		require.NoError(p, hold.Unlock(p.Context()))
		hold = <-second
		time.Sleep(3 * time.Millisecond)
		require.NoError(p, hold.Unlock(p.Context()))
		synctest.Wait()
		require.Empty(p, p.holder("a")+p.holder("b"), "they are left to others")
		hold = <-third
		require.NoError(p, hold.Unlock(p.Context()))
	})
}

// The waiter of a long section would wait for nothing most of the time, if the members were left to others after each.
func TestTheMembersAreLeftToOthersNowAndThenAfterLongSections(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.both())
		for section := range 6 {
			next := p.waits(p.Context(), p.both())
			time.Sleep(20 * time.Millisecond)
			require.NoError(p, hold.Unlock(p.Context()))
			synctest.Wait()
			left := p.holder("a")+p.holder("b") == ""
			require.Equal(p, section%3 == 2, left, "after section %d: 60 ms after the last time", section)
			hold = <-next
		}
		require.NoError(p, hold.Unlock(p.Context()))
	})
}

// A goroutine that wants one of the members gets its turn when they are given back.
func TestWhoWaitsForOneMemberIsNotForgotten(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.both())
		one, two := p.waits(p.Context(), p.member("a")), p.waits(p.Context(), p.both())
		require.NoError(p, hold.Unlock(p.Context()))
		hold = <-two
		require.Empty(p, one)
		require.NoError(p, hold.Unlock(p.Context()))
		require.NoError(p, (<-one).Unlock(p.Context()))
	})
}

// No message tells of it, but this process knows.
func TestWhatThisProcessFreesByForceIsNotHandedOn(t *testing.T) {
	both := func(p *pair) locktest.Lock { return p.both() }
	one := func(p *pair) locktest.Lock { return p.member("a") }
	spin := func(p *pair) locktest.Lock { return spinlock.New(p.client, "a", quiet...) }
	for what, of := range map[string][2]func(p *pair) locktest.Lock{
		"all members": {both, both}, "a member": {both, one}, "a spinlock": {spin, spin},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(p *pair) {
				lock, taken := of[0](p), of[1](p)
				hold := p.now(lock)
				next := p.waits(p.Context(), lock)
				was, err := taken.ForceUnlock(p.Context())
				require.NoError(p, err)
				require.True(p, was)
				theirs := p.now(rlock.New(p.another(), "a", quiet...))
				require.ErrorIs(p, hold.Unlock(p.Context()), redlatch.ErrLost)
				synctest.Wait()
				require.Empty(p, next, "it would be a second holder")
				require.NoError(p, theirs.Unlock(p.Context()))
				require.NoError(p, (<-next).Unlock(p.Context()))
			})
		})
	}
}

// What is still held of a member must not pass to somebody else.
func TestMembersAreNotHandedOnWhileOneOfThemIsReentered(t *testing.T) {
	inBubble(t, func(p *pair) {
		outer := p.now(p.both())
		inner, err := p.member("a").Lock(outer.Context(p.Context()))
		require.NoError(p, err)
		next := p.waits(p.Context(), p.both())
		require.NoError(p, outer.Unlock(p.Context()))
		time.Sleep(time.Minute)
		require.Empty(p, next, "a is held")
		require.True(p, inner.Valid())
		require.NoError(p, inner.Unlock(p.Context()))
		require.NoError(p, (<-next).Unlock(p.Context()))
		require.Empty(p, p.holder("a")+p.holder("b"))
	})
}

// It would wait for the hold of its own context.
func TestACallWhoseContextCarriesAMemberDoesNotQueue(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.member("a"))
		next := p.waits(p.Context(), p.both())
		inner, err := p.both().Lock(hold.Context(p.Context()), redlatch.WithWait(time.Minute))
		require.NoError(p, err)
		require.Empty(p, next)
		require.NoError(p, inner.Unlock(p.Context()))
		require.NoError(p, hold.Unlock(p.Context()))
		require.NoError(p, (<-next).Unlock(p.Context()))
	})
}

func TestWithoutLocalHandOffEachHolderOfTheMembersIsAnother(t *testing.T) {
	inBubble(t, func(p *pair) {
		hold := p.now(p.both())
		a := p.holder("a")
		next := p.waits(p.Context(), p.both(), redlatch.WithoutLocalHandOff())
		require.NoError(p, hold.Unlock(p.Context()))
		hold = <-next
		require.NotEqual(p, a, p.holder("a"))
		require.NoError(p, hold.Unlock(p.Context()))
	})
}

// What is embedded would be handed on past the method that is in front of it.
func TestALockerOfTheProgramsIsAskedItself(t *testing.T) {
	inBubble(t, func(p *pair) {
		var asked atomic.Int64
		both := func() *multilock.Lock {
			return multilock.New([]redlatch.Locker{p.member("b"), counted{p.member("a"), &asked}})
		}
		hold := p.now(both())
		next := p.waits(p.Context(), both())
		require.NoError(p, hold.Unlock(p.Context()))
		require.NoError(p, (<-next).Unlock(p.Context()))
		require.EqualValues(p, 2, asked.Load())
	})
}

type counted struct {
	redlatch.Locker
	n *atomic.Int64
}

func (c counted) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	c.n.Add(1)
	return c.Locker.Lock(ctx, opts...)
}

// An earlier hold of the process ends while the next one is asked for, and calls the queue. The waiter behind that one would ask for
// what it has, and could not be given it: a process would let go after each section, as long as it has waiters.
func TestFourProcessesShareTheMembersEvenly(t *testing.T) {
	const processes, goroutines, section, trip, lasts = 4, 8, 100 * time.Microsecond, time.Millisecond, time.Second
	inBubble(t, func(p *pair) {
		ctx, cancel := context.WithTimeout(p.Context(), lasts)
		defer cancel()
		var all sync.WaitGroup
		var turns [processes]atomic.Int64
		for i := range turns {
			client := p.another()
			client.AddHook(faulty(func(_ int, execute func() error) error {
				time.Sleep(trip/2 + rand.N(trip/4))
				err := execute()
				time.Sleep(trip / 2)
				return err
			}))
			for range goroutines {
				all.Go(func() {
					for ctx.Err() == nil {
						hold, err := p.three(client).Lock(ctx)
						if err != nil {
							return
						}
						time.Sleep(section)
						turns[i].Add(1)
						if err := hold.Unlock(context.WithoutCancel(ctx)); err != nil {
							p.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		var calls []int64
		for i := range turns {
			calls = append(calls, turns[i].Load())
		}
		time.Sleep(time.Second) // what the ends of the waits leave behind is done by then
		require.GreaterOrEqual(p, redistest.Evenness(calls), 0.9, "%v", calls)
	})
}
