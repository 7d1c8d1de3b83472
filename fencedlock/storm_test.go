package fencedlock_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// issued is a token, and the times of the call that returned it.
type issued struct {
	token        int64
	called, back int64 // by storm.clock
}

// A storm is goroutines of three processes that take a lock with different options, and note their tokens.
type storm struct {
	clock  atomic.Int64 // counts calls and their returns
	issued atomic.Int64
	mu     sync.Mutex
	tokens []issued
}

func (s *storm) take(ctx context.Context, lock *fencedlock.Lock, opts ...redlatch.Option) *redlatch.Hold {
	called := s.clock.Add(1)
	hold, err := lock.Lock(ctx, opts...)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = append(s.tokens, issued{hold.Token(), called, s.clock.Add(1)})
	s.issued.Add(1)
	return hold
}

func (s *storm) work(ctx context.Context, lock *fencedlock.Lock) {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	if rand.N(20) == 0 {
		time.AfterFunc(rand.N(time.Millisecond), cancel)
	}
	var opts []redlatch.Option
	if rand.N(50) == 0 {
		opts = append(opts, redlatch.WithLease(time.Minute))
	}
	hold := s.take(wait, lock, opts...)
	if hold == nil {
		return
	}
	if rand.N(10) == 0 {
		if inner := s.take(hold.Context(ctx), lock); inner != nil {
			_ = inner.Unlock(ctx)
		}
	}
	_ = hold.Unlock(ctx)
}

// Replies are lost and connections cut. No token is issued twice, and each is greater than all tokens that calls had returned
// before its own call began.
func TestTokensGrowThroughAStorm(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	s := &storm{}
	ctx, enough := t.Context(), func() bool { return s.issued.Load() >= 3000 }
	var all sync.WaitGroup
	for range 3 {
		proxy := faultproxy.New(t, srv.Addr)
		client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: 100 * time.Millisecond})
		t.Cleanup(func() { _ = client.Close() })
		lock := fencedlock.New(client, "lock", briefly.Linger(0))
		for range 8 {
			all.Go(func() {
				for !enough() {
					s.work(ctx, lock)
				}
			})
		}
		all.Go(func() {
			for !enough() {
				harm := []faultproxy.Action{faultproxy.DropReply, faultproxy.ResetAfter, faultproxy.CloseBefore}[rand.N(3)]
				proxy.On(faultproxy.Named("EVALSHA"), 1, harm)
				for before := s.issued.Load(); s.issued.Load() < before+100 && !enough(); {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	all.Wait()

	byBack := slices.SortedFunc(slices.Values(s.tokens), func(a, b issued) int { return int(a.back - b.back) })
	byCall := slices.SortedFunc(slices.Values(s.tokens), func(a, b issued) int { return int(a.called - b.called) })
	var greatest int64
	seen := map[int64]bool{}
	for _, next := range byCall {
		for len(byBack) > 0 && byBack[0].back < next.called {
			greatest, byBack = max(greatest, byBack[0].token), byBack[1:]
		}
		require.Greater(t, next.token, greatest)
		require.False(t, seen[next.token], "%d was issued twice", next.token)
		seen[next.token] = true
	}
}
