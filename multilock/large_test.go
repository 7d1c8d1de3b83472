package multilock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
)

const most = 1000 // members

func (p *pair) many(n int) *multilock.Lock {
	members := make([]redlatch.Locker, n)
	for i := range members {
		members[i] = rlock.New(p.client, fmt.Sprintf("member:%04d", i), quiet...)
	}
	return multilock.New(members)
}

// nothingLeft is for a lock that nobody has.
func (p *pair) nothingLeft() {
	p.Helper()
	left, err := p.client.Keys(p.Context(), "member:*").Result()
	require.NoError(p, err)
	require.Empty(p, left)
}

func TestAThousandMembersAreTakenInAFewParts(t *testing.T) {
	inBubble(t, func(p *pair) {
		var mu sync.Mutex // the parts are given back at the same time
		longest := 0
		p.client.AddHook(faulty(func(keys int, execute func() error) error {
			mu.Lock()
			longest = max(longest, keys)
			mu.Unlock()
			return execute()
		}))
		lock := p.many(most)
		require.NoError(p, take(p.T, lock, p.Context()).Unlock(p.Context())) // the server knows the scripts from here on
		p.sent.Store(0)
		hold := p.now(lock)
		require.EqualValues(p, 4, p.sent.Load())
		require.NoError(p, hold.Unlock(p.Context()))
		require.EqualValues(p, 8, p.sent.Load())
		require.LessOrEqual(p, longest, 1280)
		p.nothingLeft()
	})
}

// The parts before the one with the busy member are given back.
func TestARefusalOfAThousandMembersNamesAFew(t *testing.T) {
	inBubble(t, func(p *pair) {
		busy := p.now(rlock.New(p.another(), "member:0900", quiet...))
		_, err := p.many(most).TryLock(p.Context())
		require.ErrorIs(p, err, redlatch.ErrNotAcquired)
		require.ErrorContains(p, err, `lock "member:0900" is held by somebody else`)
		require.Less(p, len(err.Error()), 400)
		require.NoError(p, busy.Unlock(p.Context()))
		p.nothingLeft()

		hold := p.now(p.many(most))
		require.NoError(p, p.client.FlushDB(p.Context()).Err())
		err = hold.Unlock(p.Context())
		require.ErrorIs(p, err, redlatch.ErrLost)
		require.ErrorContains(p, err, "and 995 more")
		require.Less(p, len(err.Error()), 2000)
	})
}

// Every member costs a command then, and none costs more for coming late.
func TestAThousandMembersAreTakenOneByOneWhereNoScriptTakesSeveral(t *testing.T) {
	inBubble(t, func(p *pair) {
		p.client.AddHook(faulty(func(keys int, execute func() error) error {
			if keys > 1 {
				return replied("NOPERM No permissions to access a key")
			}
			return execute()
		}))
		for _, ask := range []func(*multilock.Lock, context.Context) (*redlatch.Hold, error){
			func(l *multilock.Lock, ctx context.Context) (*redlatch.Hold, error) { return l.TryLock(ctx) },
			func(l *multilock.Lock, ctx context.Context) (*redlatch.Hold, error) { return l.Lock(ctx) },
		} {
			p.sent.Store(0)
			hold, err := ask(p.many(most), p.Context())
			require.NoError(p, err)
			require.LessOrEqual(p, p.sent.Load(), int64(most+20))
			require.NoError(p, hold.Unlock(p.Context()))
			p.nothingLeft()
		}
	})
}

func TestMoreThanAThousandMembersAreRefusedWithASentence(t *testing.T) {
	inBubble(t, func(p *pair) {
		lock := p.many(most + 1)
		for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
			_, err := ask(p.Context())
			require.ErrorIs(p, err, redlatch.ErrInvalid)
			require.ErrorContains(p, err, "1000 members at most, and not 1001")
			require.Less(p, len(err.Error()), 400)
		}
		require.Zero(p, p.sent.Load())
		require.Equal(p, most, strings.Count(lock.Name(), "+"), "it has its name all the same")
	})
}
