package rwlock_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/briefly"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

// A lender has a process whose writer has handed the lock on to a reader, without a command.
type lender struct {
	sharing
	losing atomic.Bool // the answers of all scripts are lost
}

// DialHook and the other two make l a hook of its client.
func (l *lender) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lender) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if l.losing.Load() && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			err = errors.New("connection reset by peer")
			cmd.SetErr(err)
		}
		return err
	}
}

func (l *lender) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// lends has a writer hand the lock on. The holds are those of two readers. behind waits behind them.
func (k *kit) lends(behind func(lock *rwlock.Lock)) *lender {
	k.Helper()
	l := &lender{sharing: sharing{kit: k}}
	client := redis.NewClient(redistest.InMemoryOptions(k.mini))
	client.AddHook(&l.sent)
	client.AddHook(l)
	k.Cleanup(func() { _ = client.Close() })
	l.lock = rwlock.New(client, k.name, briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)))
	w := k.heard(l.lock)
	readers := []<-chan grant{k.asks(l.lock.RLock, k.ctx)}
	synctest.Wait()
	readers = append(readers, k.asks(l.lock.RLock, k.ctx))
	synctest.Wait()
	if behind != nil {
		behind(l.lock)
		synctest.Wait()
	}
	l.quiet(func() {
		k.give(w)
		for _, r := range readers {
			l.holds = append(l.holds, k.served(r))
		}
		synctest.Wait()
	})
	for _, h := range l.holds {
		require.Equal(k, w.Owner(), h.Owner())
	}
	require.Equal(k, l.writes(), k.fields())
	return l
}

func (l *lender) writes() map[string]string {
	return map[string]string{"mode": "write", l.holds[0].Owner() + ":write": "1"}
}

func (l *lender) reads(holds string) map[string]string {
	return map[string]string{"mode": "read", l.holds[0].Owner(): holds}
}

func TestReadersAndWritersOfAProcessAlternateWithoutACommand(t *testing.T) {
	fakeTime(t, func(k *kit) {
		var writers [2]<-chan grant
		var late [2]<-chan grant
		l := k.lends(func(lock *rwlock.Lock) {
			for i := range writers {
				writers[i] = k.asks(lock.Lock, k.ctx)
				synctest.Wait()
				late[i] = k.asks(lock.RLock, k.ctx)
				synctest.Wait()
			}
		})
		l.quiet(func() {
			_, err := l.lock.TryRLock(k.ctx)
			require.ErrorIs(k, err, redlatch.ErrNotAcquired, "a writer waits")
		})
		l.quiet(func() {
			for i := range writers {
				k.waits(writers[i], late[i])
				k.give(l.holds...)
				w := k.served(writers[i])
				require.Equal(k, l.holds[0].Owner(), w.Owner())
				k.waits(late[i])
				k.give(w)
				l.holds = []*redlatch.Hold{k.served(late[i])}
			}
			k.give(k.take(l.lock.RLock, k.ctx), k.take(l.lock.TryRLock, k.ctx))
		})
		require.Equal(k, l.writes(), k.fields())
		k.give(l.holds...)
		require.Empty(k, k.keys())
	})
}

func TestReadersOfOthersComeInWhenTheStreakIsOver(t *testing.T) {
	fakeTime(t, func(k *kit) {
		l := k.lends(nil)
		other := k.asks(k.process().RLock, k.ctx)
		k.waits(other)
		k.taken(k.process().TryRLock)
		time.Sleep(20 * time.Millisecond)
		k.give((<-other).hold)
		require.Equal(k, l.reads("1"), k.fields())
		k.taken(k.process().TryLock)
		time.Sleep(time.Minute)
		require.True(k, l.holds[0].Valid())
		k.give(l.holds...)
		require.Empty(k, k.keys())
	})
}

// What needs a field of the reader's own makes one.
func TestALoanEndsWithACommandThatNeedsTheReader(t *testing.T) {
	for name, does := range map[string]func(k *kit, l *lender, h *redlatch.Hold) (holds string){
		"a re-entry": func(k *kit, l *lender, h *redlatch.Hold) string {
			k.take(l.lock.RLock, h.Context(k.ctx))
			return "2"
		},
		"an extension": func(k *kit, l *lender, h *redlatch.Hold) string {
			require.NoError(k, h.Extend(k.ctx, time.Minute))
			require.Greater(k, k.ttl(k.name), 59*time.Second)
			return "1"
		},
		"a count": func(k *kit, l *lender, h *redlatch.Hold) string {
			n, err := l.lock.Reader().HoldCount(h.Context(k.ctx))
			require.NoError(k, err)
			require.EqualValues(k, 1, n)
			return "1"
		},
		"a hold that is left": func(k *kit, l *lender, h *redlatch.Hold) string {
			h.Leave()
			synctest.Wait()
			return "1"
		},
		"a reader with terms of its own": func(k *kit, l *lender, h *redlatch.Hold) string {
			k.give(k.take(l.lock.TryRLock, k.ctx, redlatch.WithLease(time.Minute)))
			return "1"
		},
	} {
		t.Run(name, func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				l := k.lends(nil)
				holds := does(k, l, l.holds[0])
				require.Equal(k, l.reads(holds), k.fields())
				k.free(k.process().TryRLock)
			})
		})
	}
}

func TestAReaderWithTermsOfItsOwnIsGivenTheLockByOneScript(t *testing.T) {
	fakeTime(t, func(k *kit) {
		var own, writer <-chan grant
		l := k.lends(func(lock *rwlock.Lock) {
			writer = k.asks(lock.Lock, k.ctx)
			synctest.Wait()
			own = k.asks(lock.RLock, k.ctx, redlatch.WithLease(time.Minute))
		})
		k.give(l.holds...)
		w := k.served(writer)
		before := l.sent.Load()
		k.give(w)
		r := k.served(own)
		require.EqualValues(k, 1, l.sent.Load()-before)
		require.NotEqual(k, w.Owner(), r.Owner())
		require.Equal(k, map[string]string{"mode": "read", r.Owner(): "1"}, k.fields())
		k.free(k.process().TryRLock)
		k.give(r)
		require.Empty(k, k.keys())
	})
}

func TestALoanThatWasTakenByForceGoesOnToNobody(t *testing.T) {
	fakeTime(t, func(k *kit) {
		var writer <-chan grant
		l := k.lends(func(lock *rwlock.Lock) { writer = k.asks(lock.Lock, k.ctx) })
		freed, err := k.process().ForceUnlock(k.ctx)
		require.NoError(k, err)
		require.True(k, freed)
		synctest.Wait() // the message has come, and the writer has asked
		for _, h := range l.holds {
			require.ErrorIs(k, h.Unlock(k.ctx), redlatch.ErrLost)
		}
		w := k.served(writer)
		require.NotEqual(k, l.holds[0].Owner(), w.Owner())
		require.Equal(k, map[string]string{"mode": "write", w.Owner() + ":write": "1"}, k.fields())
		k.give(w)
	})
}

// The waiter that is to read has left at the moment of the hand-off.
func TestALoanOfAReaderThatHasLeftGoesOn(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		for range 50 {
			w := k.heard(lock)
			ctx, cancel := context.WithCancel(k.ctx)
			gone := k.asks(lock.RLock, ctx)
			synctest.Wait()
			rest := []<-chan grant{k.asks(lock.RLock, k.ctx)}
			synctest.Wait()
			rest = append(rest, k.asks(lock.Lock, k.ctx))
			synctest.Wait()
			go cancel()
			k.give(w)
			if got := <-gone; got.err == nil {
				k.give(got.hold)
			}
			for _, r := range rest {
				got := <-r
				require.NoError(k, got.err)
				k.give(got.hold)
			}
			synctest.Wait()
			require.Empty(k, k.keys())
		}
	})
}

// The script that ends the loan is executed, and nobody knows.
func TestALoanWhoseEndIsInDoubt(t *testing.T) {
	for _, knows := range []string{"a release that is answered", "a release that is not"} {
		t.Run(knows, func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				l := k.lends(nil)
				l.losing.Store(true)
				time.Sleep(50 * time.Millisecond)
				require.Equal(k, l.reads("1"), k.fields())
				if knows == "a release that is not" {
					require.ErrorIs(k, l.holds[1].Unlock(k.ctx), redlatch.ErrUncertain, "it has no news")
					require.ErrorIs(k, l.holds[0].Unlock(k.ctx), redlatch.ErrUncertain)
					l.losing.Store(false)
				} else {
					l.losing.Store(false)
					k.give(l.holds[1], l.holds[0])
				}
				w := k.take(l.lock.Lock, k.ctx)
				require.NotEqual(k, l.holds[0].Owner(), w.Owner())
				require.Equal(k, map[string]string{"mode": "write", w.Owner() + ":write": "1"}, k.fields())
				time.Sleep(2 * time.Minute) // all that is in doubt has been settled
				require.Equal(k, map[string]string{"mode": "write", w.Owner() + ":write": "1"}, k.fields())
				k.give(w)
				require.Empty(k, k.keys())
			})
		})
	}
}
