package locktest

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// Who holds: the hold, wherever its context is carried, and nobody else.
var reentryCases = []trial{
	{"the context of a hold takes the lock again", reentrant, func(l *lab) {
		lock, stranger := l.lock(), l.stranger()
		outer := l.take(lock, l.ctx)
		inner := l.take(lock, outer.Context(l.ctx))
		tried, err := l.lock().TryLock(inner.Context(outer.Context(l.ctx))) // another value of the same name
		require.NoError(l, err)
		require.Equal(l, outer.Owner(), inner.Owner())
		require.Equal(l, outer.Owner(), tried.Owner())
		for _, h := range []*redlatch.Hold{tried, inner, outer} {
			l.refused(stranger, l.ctx)
			l.give(h)
		}
		l.isFree(stranger)
	}},
	{"holds are given back in any order", reentrant, func(l *lab) {
		lock, stranger := l.lock(), l.stranger()
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			outer := l.take(lock, l.ctx)
			middle := l.take(lock, outer.Context(l.ctx))
			holds := []*redlatch.Hold{outer, middle, l.take(lock, middle.Context(l.ctx))}
			for _, i := range order {
				l.refused(stranger, l.ctx)
				l.give(holds[i])
				require.False(l, holds[i].Valid())
			}
			l.isFree(stranger)
		}
	}},
	{"an inner hold outlives the outer one's end", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx)
		work := outer.Context(l.ctx)
		inner := l.take(lock, work)
		innerWork := inner.Context(l.ctx)
		l.give(outer)
		require.ErrorIs(l, context.Cause(work), redlatch.ErrReleased)
		require.NoError(l, innerWork.Err())
		require.True(l, inner.Valid())
		again := l.take(lock, innerWork) // and still re-enters
		require.Equal(l, inner.Owner(), again.Owner())
		l.give(inner, again)
		l.isFree(l.stranger())
	}},
	{"concurrent re-entries through one context are counted", reentrant, func(l *lab) {
		lock, stranger := l.lock(), l.stranger()
		outer := l.take(lock, l.ctx)
		work := outer.Context(l.ctx)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					inner, err := lock.Lock(work)
					if err != nil {
						l.Errorf("re-entry: %v", err)
						return
					}
					if err := inner.Unlock(work); err != nil {
						l.Errorf("give back a re-entry: %v", err)
					}
				}
			})
		}
		all.Wait()
		l.refused(stranger, l.ctx)
		require.True(l, outer.Valid())
		l.give(outer)
		l.isFree(stranger)
	}},
	{"a hold of one lock makes nobody an owner of another", nil, func(l *lab) {
		a := l.take(l.named(l.name+".a"), l.ctx)
		carrying := a.Context(l.ctx)
		blocker := l.has.Blocker(l, l.client, l.name, Quiet...)
		b := l.take(blocker, carrying)
		// A second goroutine with the same context is somebody else for this lock.
		l.refused(l.lock(), carrying)
		require.NotErrorIs(l, func() error { _, err := l.lock().TryLock(carrying); return err }(), redlatch.ErrNotReentrant)
		l.give(b, a)
	}},
	{"a detached context does not re-enter", nil, func(l *lab) {
		// Of a shared lock everybody is let in; that one is somebody else shows in the owner.
		lock := l.lock()
		hold := l.take(lock, l.ctx)
		detached := redlatch.Detach(hold.Context(l.ctx))
		if l.has.Exclusive {
			l.refused(lock, detached)
		} else {
			other := l.take(lock, detached)
			require.NotEqual(l, hold.Owner(), other.Owner())
			l.give(other)
		}
		l.give(hold)
	}},
	{"a released hold in a context is ignored", nil, func(l *lab) {
		lock := l.lock()
		hold := l.take(lock, l.ctx)
		carrying := context.WithoutCancel(hold.Context(l.ctx))
		l.give(hold)
		strangers := l.take(l.stranger(), l.ctx)
		l.refused(lock, carrying)
		l.give(strangers)
		fresh := l.take(lock, carrying)
		if l.has.Owned {
			require.NotEqual(l, hold.Owner(), fresh.Owner())
		}
		l.refused(l.stranger(), l.ctx)
		l.give(fresh)
	}},
	{"a released hold in a context is ignored also while another of its owner lives", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx)
		carrying := context.WithoutCancel(outer.Context(l.ctx))
		inner := l.take(lock, carrying)
		l.give(outer)
		if l.has.Exclusive {
			l.refused(lock, carrying)
		} else {
			fresh := l.take(lock, carrying)
			require.NotEqual(l, inner.Owner(), fresh.Owner())
			l.give(fresh)
		}
		require.True(l, inner.Valid())
		l.give(inner)
		l.isFree(l.stranger())
	}},
	{"a lost hold in a context is ignored", nil, func(l *lab) {
		lock := l.lock()
		hold := l.take(lock, l.ctx)
		carrying := context.WithoutCancel(hold.Context(l.ctx))
		l.lose()
		require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrLost)
		fresh := l.take(lock, carrying)
		if l.has.Owned {
			require.NotEqual(l, hold.Owner(), fresh.Owner())
		}
		l.give(fresh)
	}},
	{"re-entry finds out that the lock is gone and does not create it again", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx)
		work := outer.Context(l.ctx)
		l.lose()
		_, err := lock.Lock(work)
		require.ErrorIs(l, err, redlatch.ErrLost)
		require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
		require.Empty(l, l.left(l.name))
		require.ErrorIs(l, outer.Unlock(l.ctx), redlatch.ErrLost)
	}},
	{"the release of one of several holds finds out that the lock is gone", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx)
		work := outer.Context(l.ctx)
		inner := l.take(lock, work)
		l.lose()
		require.ErrorIs(l, inner.Unlock(l.ctx), redlatch.ErrLost)
		require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
		require.Empty(l, l.left(l.name))
		require.ErrorIs(l, outer.Unlock(l.ctx), redlatch.ErrLost)
	}},
}

// A lock that is not reentrant says so at once, for waiting would never end.
var refusalCases = []trial{
	{"a lock that is not reentrant refuses its holder at once", nonReentrant, func(l *lab) {
		lock := l.lock()
		hold := l.take(lock, l.ctx)
		carrying := hold.Context(l.ctx)
		for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){
			lock.Lock, lock.TryLock, l.lock().Lock,
		} {
			_, err := ask(carrying)
			require.ErrorIs(l, err, l.has.Refusal)
		}
		require.True(l, hold.Valid())
		l.give(hold)
		l.isFree(lock)
	}},
	{"a lock that is not reentrant waits when the context does not say who asks", nonReentrant, func(l *lab) {
		lock := l.lock()
		hold := l.take(lock, l.ctx)
		asked := l.asks(lock, context.WithoutCancel(redlatch.Detach(hold.Context(l.ctx))), redlatch.WithWait(patience))
		l.give(hold)
		got := await(l, "the lock for the detached context", asked)
		require.NoError(l, got.err)
		l.give(got.hold)
	}},
}

func reentrant(f Features) bool    { return f.Reentrant }
func nonReentrant(f Features) bool { return !f.Reentrant && f.Exclusive }
