package fairlock_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// Waiters of one process that stand one behind the other in Redis hand the lock on without a command.
func TestARowIsHandedOnWithoutACommand(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(1).Lock(w.Context())
		require.NoError(t, err)
		var waits []chan error
		var want []string
		for n := range 20 {
			want = append(want, fmt.Sprint(n))
			waits = append(waits, w.stands(0, want[n]))
		}
		time.Sleep(100 * time.Millisecond) // the front listens by now
		before := w.scripts.Load()
		require.NoError(t, hold.Unlock(w.Context()))
		for _, done := range waits {
			require.NoError(t, <-done)
		}
		require.Equal(t, want, w.served())
		require.LessOrEqual(t, w.scripts.Load()-before, int64(2), "one release hands it to the process, and one gives it back")
		require.Empty(t, w.mini.Keys())
	})
}

// A row never jumps an entry: the processes stand in turn, and are served in turn.
func TestARowEndsAtAnEntryOfAnotherProcess(t *testing.T) {
	bubble(t, 3, func(w *world) {
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		var waits []chan error
		var want []string
		for n, process := range []int{0, 0, 1, 1, 1, 2, 0, 1, 2, 2, 0, 0} {
			want = append(want, fmt.Sprint(n))
			waits = append(waits, w.stands(process, want[n]))
		}
		require.NoError(t, hold.Unlock(w.Context()))
		for _, done := range waits {
			require.NoError(t, <-done)
		}
		require.Equal(t, want, w.served())
		require.Empty(t, w.mini.Keys())
	})
}

// A sitter holds for a while.
func (w *world) sits(process int, d time.Duration, opts ...redlatch.Option) <-chan error {
	done := make(chan error, 1)
	go func() {
		hold, err := w.lock(process, opts...).Lock(w.Context())
		if err == nil {
			time.Sleep(d)
			err = hold.Unlock(w.Context())
		}
		done <- err
	}()
	time.Sleep(3 * time.Millisecond)
	synctest.Wait()
	return done
}

// The lock is taken away in the middle of a row. The waiter that was served last learns of the loss. The waiters that were not
// served keep their places. The entries of the waiters that were served before hold up no other entry.
func TestALossInARowCostsNobodyItsPlace(t *testing.T) {
	for name, take := range map[string]func(w *world){
		"by force": func(w *world) {
			_, err := w.lock(1).ForceUnlock(w.Context())
			require.NoError(w, err)
		},
		"by deletion": func(w *world) { w.mini.Del(name) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 2, func(w *world) {
				hold, err := w.lock(1).Lock(w.Context())
				require.NoError(t, err)
				first := w.stands(0, "first")
				second := w.sits(0, time.Second)
				third, last := w.stands(0, "third"), w.stands(1, "last")
				require.NoError(t, hold.Unlock(w.Context()))
				require.NoError(t, <-first)
				time.Sleep(500 * time.Millisecond)
				take(w)
				require.ErrorIs(t, <-second, redlatch.ErrLost)
				require.NoError(t, <-third)
				require.NoError(t, <-last)
				require.Equal(t, []string{"first", "third", "last"}, w.served())
				time.Sleep(time.Second)
				require.Empty(t, w.mini.Keys())
			})
		})
	}
}

// After a force-unlock the lock goes to the next by its own question, and the one before learns at once that it is lost.
func TestAForceUnlockIsHeardInARow(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(1).Lock(w.Context())
		require.NoError(t, err)
		forced := make(chan error, 1)
		go func() {
			forced <- w.lock(0).Do(w.Context(), func(context.Context) error {
				_, err := w.lock(1).ForceUnlock(w.Context())
				synctest.Wait() // the messages have come
				return err
			})
		}()
		time.Sleep(3 * time.Millisecond)
		second := w.stands(0, "second")
		require.NoError(t, hold.Unlock(w.Context()))
		require.ErrorIs(t, <-forced, redlatch.ErrLost)
		require.NoError(t, <-second)
	})
}

func TestCancelledMembersOfARowAreSkipped(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(1).Lock(w.Context())
		require.NoError(t, err)
		var waits []chan error
		first := w.sits(0, time.Millisecond)
		ctx, cancel := context.WithCancel(w.Context())
		left := make(chan error, 1)
		go func() {
			_, err := w.lock(0).Lock(ctx)
			left <- err
		}()
		time.Sleep(3 * time.Millisecond)
		synctest.Wait()
		waits = append(waits, w.stands(0, "third"), w.stands(1, "fourth"))
		require.NoError(t, hold.Unlock(w.Context()))
		synctest.Wait() // the first holds, with a row of two
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		require.NoError(t, <-first)
		for _, done := range waits {
			require.NoError(t, <-done)
		}
		require.Equal(t, []string{"third", "fourth"}, w.served())
		require.Empty(t, w.mini.Keys())
	})
}

// Waiters with terms of their own stand between others: each has the lease that it asked for.
func TestOnlyEqualTermsShareARow(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(1).Lock(w.Context())
		require.NoError(t, err)
		var waits []<-chan error
		leases := make(chan time.Duration, 8)
		for _, opts := range [][]redlatch.Option{nil, {redlatch.WithLease(time.Minute)}, nil, {redlatch.WithWatchdogTimeout(20 * time.Second)},
			{redlatch.WithMaxHold(time.Hour)}, {redlatch.WithLease(time.Second)}, nil} {
			done := make(chan error, 1)
			go func() {
				done <- w.lock(0, opts...).Do(w.Context(), func(context.Context) error {
					leases <- w.mini.TTL(name)
					return nil
				})
			}()
			time.Sleep(3 * time.Millisecond)
			synctest.Wait()
			waits = append(waits, done)
		}
		require.NoError(t, hold.Unlock(w.Context()))
		var got []time.Duration
		for _, done := range waits {
			require.NoError(t, <-done)
			got = append(got, <-leases)
		}
		require.Equal(t, time.Minute, got[1])
		require.Equal(t, time.Second, got[5])
		for _, n := range []int{0, 2, 3, 4, 6} {
			require.GreaterOrEqual(t, got[n], 9*time.Second)
		}
		require.Empty(t, w.mini.Keys())
	})
}

// The release that ends a row also carries the entries of new waiters, and its reply is lost. No entry of it stays behind, and
// each waiter is served once.
func TestALostReplyAtTheEndOfARowLeavesNoGhosts(t *testing.T) {
	for name, action := range map[string]faultproxy.Action{
		"the reply is lost":    faultproxy.DropReply,
		"the request is lost":  faultproxy.DropRequest,
		"the connection ended": faultproxy.ResetAfter,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.warm(t)
			var (
				served roll
				all    sync.WaitGroup
			)
			const callers, turns = 8, 40
			rule := r.proxy.On(r.gives, 3, action)
			for n := range callers {
				all.Go(func() {
					for range turns {
						hold, err := r.bad.Lock(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						served.enter(t, n)
						served.exit()
						if err := hold.Unlock(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			rule.AwaitHits(t, 3)
			all.Wait()
			require.Len(t, served.numbers, callers*turns)
			nothingLeft(t, r.direct, r.name)
			r.passes(t)
		})
	}
}

// The order in which callers are served is that in which the server has put their entries into the list, over processes,
// with entries of Redisson's between them. A caller is known by its patience.
func TestTheOrderIsThatOfArrivalInRedisExactly(t *testing.T) {
	srv := redistest.Process(t)
	const name, processes, callers, turns = "exact", 4, 6, 60
	direct := srv.Client(t)
	monitored := monitor(t, srv.Addr)
	var (
		served roll
		all    sync.WaitGroup
	)
	for p := range processes {
		client := srv.Client(t)
		for c := range callers {
			n := p*callers + c
			lock := fairlock.New(client, name, fairlock.WithPatience(20*time.Second+time.Duration(n)*time.Millisecond))
			all.Go(func() {
				for range turns {
					hold, err := lock.Lock(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					served.enter(t, n)
					served.exit()
					if err := hold.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	const foreign = "7f1c3a52-90aa-4c11-8b3e-5d2f60c7a911:1" // Redisson's UUIDs are of version 4
	all.Go(func() {
		for range turns / 4 {
			redissonsTurn(t, direct, name, foreign, func() {
				served.enter(t, -1)
				served.exit()
			})
		}
	})
	all.Wait()
	require.NoError(t, direct.Echo(t.Context(), "over").Err())
	require.Equal(t, arrivals(t, monitored, name, foreign), served.numbers)
	nothingLeft(t, direct, name)
}

// redissonsTurn waits, holds and gives back as Redisson does.
func redissonsTurn(t *testing.T, client *redis.Client, name, owner string, section func()) {
	ctx := t.Context()
	ear := client.Subscribe(ctx, keys.LockChannel(name)+":"+owner)
	defer ear.Close()
	names := []string{name, keys.FairQueue(name), keys.FairTimeouts(name)}
	for client.Eval(ctx, `
		local head = redis.call('lindex', KEYS[2], 0)
		if redis.call('exists', KEYS[1]) == 0 and (not head or head == ARGV[1]) then
			redis.call('lpop', KEYS[2])
			redis.call('zrem', KEYS[3], ARGV[1])
			for _, member in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
				redis.call('zincrby', KEYS[3], -300000, member)
			end
			redis.call('hset', KEYS[1], ARGV[1], 1)
			redis.call('pexpire', KEYS[1], 30000)
			return 1
		end
		if not redis.call('zscore', KEYS[3], ARGV[1]) then
			local last = redis.call('lindex', KEYS[2], -1)
			local base = last and tonumber(redis.call('zscore', KEYS[3], last)) or ARGV[2] + redis.call('pttl', KEYS[1])
			redis.call('zadd', KEYS[3], base + 300000, ARGV[1])
			redis.call('rpush', KEYS[2], ARGV[1])
		end
		return 0`, names, owner, time.Now().UnixMilli()).Val() != int64(1) {
		_, _ = ear.ReceiveTimeout(ctx, 50*time.Millisecond)
	}
	section()
	client.Eval(ctx, `
		redis.call('del', KEYS[1])
		local head = redis.call('lindex', KEYS[2], 0)
		if head then
			redis.call('publish', ARGV[1] .. ':' .. head, 0)
		end`, names, keys.LockChannel(name))
}

// monitor is what the server says that it executes.
func monitor(t *testing.T, addr string) <-chan string {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("MONITOR\r\n"))
	require.NoError(t, err)
	scanner := bufio.NewScanner(conn)
	scanner.Buffer(nil, 1<<20)
	require.True(t, scanner.Scan()) // OK
	lines := make(chan string, 1<<17)
	go func() {
		defer close(lines)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// arrivals are the callers in the order in which their owners came into the list, or took the lock without.
func arrivals(t *testing.T, lines <-chan string, name, foreign string) (callers []int) {
	caller := map[string]int{foreign: -1}
	waits := map[string]bool{}
	for line := range lines {
		words := strings.Fields(strings.ReplaceAll(line, `"`, ""))
		for i := range words {
			words[i] = strings.ToLower(words[i])
		}
		if len(words) < 5 {
			continue
		}
		switch words = words[3:]; words[0] {
		case "echo":
			return callers
		case "evalsha", "eval":
			for i := 1; i < len(words); i++ {
				var ms int
				if n, err := fmt.Sscanf(words[i], "%d", &ms); n == 1 && err == nil && fmt.Sprint(ms) == words[i] && ms >= 20000 && ms < 20100 {
					for _, owner := range words[max(0, i-3):i] { // the owner itself comes before its lease
						if strings.Count(owner, "-") >= 4 && strings.Contains(owner, ":") && !strings.HasPrefix(owner, "redi") {
							if _, known := caller[owner]; !known {
								caller[owner] = ms - 20000
							}
						}
					}
				}
			}
		case "rpush":
			for _, owner := range words[2:] {
				waits[owner] = true
				callers = append(callers, caller[owner])
			}
		case "hset":
			if owner := words[2]; words[1] == name && !waits[owner] {
				callers = append(callers, caller[owner])
			}
			if words[2] == foreign {
				delete(waits, foreign)
			}
		}
	}
	t.Error("the monitor has ended")
	return nil
}
