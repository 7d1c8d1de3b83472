package rwlock_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

// faulty is a process behind a proxy. Its scripts are known to the server, so that the first send is the one that counts.
func (k *kit) faulty(opts ...redlatch.Option) (*rwlock.Lock, *faultproxy.Proxy) {
	k.Helper()
	warm := rwlock.New(k.client, k.name+".warm", briefly.Linger(0))
	w := k.take(warm.Lock, k.ctx)
	r := k.take(warm.RLock, w.Context(k.ctx))
	k.give(k.take(warm.RLock, r.Context(k.ctx)), k.take(warm.Lock, w.Context(k.ctx)), r, w)
	proxy := faultproxy.New(k, k.srv.Addr)
	client := k.srv.Client(k, func(o *redis.Options) { o.Addr = proxy.Addr() })
	return rwlock.New(client, k.name, append([]redlatch.Option{
		briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)),
	}, opts...)...), proxy
}

// calls are the scripts that work on the lock.
func (k *kit) calls() func(faultproxy.Command) bool { return faultproxy.OnKey(k.name) }

func (k *kit) eventually(what string, is func() bool) {
	k.Helper()
	redistest.Eventually(k, what, is)
}

// Every command of a reader and a writer, executed while its answer is lost.
func TestALostAnswerCountsOnce(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		k := &kit{T: t, ctx: t.Context(), client: srv.Client(t), srv: srv, name: srv.Key(t, "rw")}
		lock, proxy := k.faulty()
		lose := func() { proxy.On(k.calls(), 1, faultproxy.CloseAfter) }

		lose()
		w := k.take(lock.Lock, k.ctx)
		lose()
		w2 := k.take(lock.Lock, w.Context(k.ctx))
		lose()
		r := k.take(lock.RLock, w.Context(k.ctx))
		lose()
		r2 := k.take(lock.RLock, r.Context(w.Context(k.ctx)))
		require.Equal(t, map[string]string{"mode": "write", w.Owner() + ":write": "2", r.Owner(): "2"}, k.fields())
		lose()
		k.give(w2)
		lose()
		k.give(r2)
		require.Equal(t, map[string]string{"mode": "write", w.Owner() + ":write": "1", r.Owner(): "1"}, k.fields())
		lose()
		k.give(w)
		require.Equal(t, map[string]string{"mode": "read", r.Owner(): "1"}, k.fields())
		lose()
		k.give(r)
		require.Empty(t, k.client.Keys(k.ctx, "*"+k.name+"*").Val())
	})
}

// A read acquisition that is executed when its caller has long left is given back.
func TestAGhostOfAReaderIsGivenBack(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		k := &kit{T: t, ctx: t.Context(), client: srv.Client(t), srv: srv, name: srv.Key(t, "rw")}
		lock, proxy := k.faulty()
		ghost := proxy.On(k.calls(), 1, faultproxy.Hold)
		ctx, cancel := context.WithCancel(k.ctx)
		asked := k.asks(lock.RLock, ctx)
		ghost.AwaitHits(t, 1)
		cancel()
		require.ErrorIs(t, (<-asked).err, context.Canceled)
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		writer := k.process()
		k.eventually("a writer gets in", func() bool {
			h, err := writer.TryLock(k.ctx)
			return err == nil && h.Unlock(k.ctx) == nil
		})
	})
}

// The guest of a write hold shares its identity. While a command of one guest may still be executed, the next one must
// not have that identity: the late command, or the release that settles it, would be about the wrong hold.
func TestAGhostOfAReaderDoesNotHarmTheNextOneBesideTheSameWrite(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		k := &kit{T: t, ctx: t.Context(), client: srv.Client(t), srv: srv, name: srv.Key(t, "rw")}
		var settled atomic.Int64
		lock, proxy := k.faulty(redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventSettled {
				settled.Add(1)
			}
		})))
		w := k.take(lock.Lock, k.ctx)
		ghost := proxy.On(k.calls(), 1, faultproxy.Hold)
		ctx, cancel := context.WithCancel(k.ctx)
		asked := k.asks(lock.RLock, w.Context(ctx))
		ghost.AwaitHits(t, 1)
		cancel()
		require.ErrorIs(t, (<-asked).err, context.Canceled)

		next := k.take(lock.RLock, w.Context(k.ctx))
		require.NotEqual(t, w.Owner(), next.Owner())
		require.Equal(t, map[string]string{"mode": "write", w.Owner() + ":write": "1", next.Owner(): "1"}, k.fields())
		again := k.take(lock.RLock, w.Context(k.ctx))
		require.Equal(t, next.Owner(), again.Owner(), "who reads beside the write is one holder, whatever its name")
		reads, err := lock.Reader().HoldCount(w.Context(k.ctx))
		require.NoError(t, err)
		require.EqualValues(t, 2, reads)
		k.give(again)
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		k.eventually("what the ghost took is given back", func() bool { return k.fields()[w.Owner()] == "" })
		require.Equal(t, "1", k.fields()[next.Owner()])
		k.give(w)
		require.Equal(t, map[string]string{"mode": "read", next.Owner(): "1"}, k.fields())
		k.give(next)
		require.Empty(t, k.fields())
	})
}

// The release of a guest may be executed once more when the next one has come.
func TestAfterAReleaseInDoubtTheNextReaderBesideTheWriteHasAnotherIdentity(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		k := &kit{T: t, ctx: t.Context(), client: srv.Client(t), srv: srv, name: srv.Key(t, "rw")}
		lock, proxy := k.faulty()
		w := k.take(lock.Lock, k.ctx)
		ctx := w.Context(k.ctx)
		first := k.take(lock.RLock, ctx)
		require.Equal(t, w.Owner(), first.Owner())
		proxy.On(k.calls(), 1, faultproxy.CloseBefore)
		k.give(first)
		for range 2 { // also after one of whom nothing is in doubt
			next := k.take(lock.RLock, ctx)
			require.NotEqual(t, w.Owner(), next.Owner())
			k.give(next)
		}
		k.give(w)
		require.Empty(t, k.fields())
	})
}

// A reader who comes beside a write while the one before it is given back has an identity of its own. It keeps the key
// all the same, and so the field of a writer whose time is over.
func TestAWriteLeaseThatIsOverEndsBesideAReaderWithAnIdentityOfItsOwn(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		k := &kit{T: t, ctx: t.Context(), client: srv.Client(t), srv: srv, name: srv.Key(t, "rw")}
		lock, proxy := k.faulty()
		w := k.take(lock.Lock, k.ctx, redlatch.WithLease(2*time.Second))
		writing := context.WithoutCancel(w.Context(k.ctx))
		first := k.take(lock.RLock, writing)
		release := proxy.On(k.calls(), 1, faultproxy.Hold)
		given := make(chan error, 1)
		go func() { given <- first.Unlock(k.ctx) }()
		release.AwaitHits(t, 1)
		second := k.take(lock.RLock, writing)
		require.NotEqual(t, w.Owner(), second.Owner())
		release.Release()
		require.NoError(t, <-given)
		k.eventually("the write side ends", func() bool { return k.fields()["mode"] == "read" })
		require.Equal(t, map[string]string{"mode": "read", second.Owner(): "1"}, k.fields())
		k.give(second)
		require.ErrorIs(t, w.Unlock(k.ctx), redlatch.ErrLost)
		require.Empty(t, k.fields())
	})
}

// No writer with a foreign reader, whatever is lost on the way.
func TestNobodyIsBesideAWriterUnderFaults(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		k := &kit{T: t, ctx: t.Context(), client: srv.Client(t), srv: srv, name: srv.Key(t, "rw")}
		// Whoever hears messages gets on by them alone.
		slow := redlatch.WithPoll(2 * time.Minute)
		locks := []*rwlock.Lock{k.process(slow), k.process(slow, rwlock.WithWriterPreference())}
		faulty, proxy := k.faulty(redlatch.WithPoll(100 * time.Millisecond))
		locks = append(locks, faulty)

		const alone = 1000
		var (
			inside  atomic.Int64
			workers sync.WaitGroup
			shared  atomic.Int64
		)
		enter := func(h *redlatch.Hold, weight int64) {
			if n := inside.Add(weight); n > alone || weight == 1 && n >= alone {
				t.Errorf("%d inside, in units of which a writer is %d", n, alone)
			} else if weight == 1 && n > 1 {
				shared.Add(1)
			}
			time.Sleep(time.Duration(rand.N(3)) * time.Millisecond) // work
			inside.Add(-weight)
		}
		stop := make(chan struct{})
		var breaker sync.WaitGroup
		breaker.Go(func() { // one command in ten or so, executed or not
			for {
				rule := proxy.On(k.calls(), 1, []faultproxy.Action{faultproxy.CloseAfter, faultproxy.CloseBefore}[rand.N(2)])
				for rule.Hits() == 0 {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
					}
				}
				for seen := proxy.Seen("EVALSHA"); proxy.Seen("EVALSHA") < seen+5+rand.N(10); {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
					}
				}
			}
		})
		for i := range 12 {
			lock := locks[i%len(locks)]
			workers.Go(func() {
				for n := range 12 {
					if (n+i)%4 != 0 {
						r, err := lock.RLock(k.ctx)
						if err != nil {
							t.Errorf("read: %v", err)
							return
						}
						enter(r, 1)
						if err := r.Unlock(k.ctx); err != nil {
							t.Errorf("give back a read: %v", err)
						}
						continue
					}
					w, err := lock.Lock(k.ctx)
					if err != nil {
						t.Errorf("write: %v", err)
						return
					}
					enter(w, alone)
					r, err := lock.RLock(w.Context(k.ctx))
					if err != nil {
						t.Errorf("read beside a write: %v", err)
						return
					}
					enter(w, alone)
					if err := w.Unlock(k.ctx); err != nil {
						t.Errorf("give back a write: %v", err)
					}
					enter(r, 1) // downgraded
					if err := r.Unlock(k.ctx); err != nil {
						t.Errorf("give back a downgraded read: %v", err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() {
			workers.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("somebody waits although nobody holds")
			<-done
		}
		close(stop)
		breaker.Wait()
		k.eventually("nothing is left", func() bool {
			return len(k.client.Keys(k.ctx, k.name).Val()) == 0 && len(k.client.Keys(k.ctx, "{"+k.name+"}*").Val()) == 0
		})
		require.NotZero(t, shared.Load(), "readers never met: nothing was shared")
	})
}
