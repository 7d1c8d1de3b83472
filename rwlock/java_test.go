package rwlock_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// What Redisson's readers do to the keys, written by hand. The same with Redisson itself is in the tests of interop.

// A javaReader is the state that Redisson leaves for a reader of its own with the watchdog timeout javaWatchdog.
type javaReader struct {
	k     *kit
	owner string
}

const javaWatchdog = 5 * time.Second

func (k *kit) javaReader() javaReader {
	k.Helper()
	j := javaReader{k, "b983c153-7421-469a-addb-44fb92259a1b:42"}
	require.NoError(k, k.client.HSet(k.ctx, k.name, "mode", "read", j.owner, "1").Err())
	require.NoError(k, k.client.Set(k.ctx, k.marker(j.owner, 1), "1", javaWatchdog).Err())
	if k.ttl(k.name) < javaWatchdog {
		j.expire(k.name)
	}
	return j
}

// renew is one renewal: it sets the TTL of the hash and of these markers.
func (j javaReader) renew(markers ...string) {
	j.k.Helper()
	for _, marker := range markers {
		j.expire(marker)
	}
	j.expire(j.k.name)
}

// unlock is that of the last reader.
func (j javaReader) unlock() {
	j.k.Helper()
	require.NoError(j.k, j.k.client.Del(j.k.ctx, j.k.name, j.k.marker(j.owner, 1)).Err())
	require.NoError(j.k, j.k.client.Publish(j.k.ctx, "redisson_rwlock:{"+j.k.name+"}", "0").Err())
}

func (j javaReader) expire(key string) {
	j.k.Helper()
	require.NoError(j.k, j.k.client.PExpire(j.k.ctx, key, javaWatchdog).Err())
}

// Redisson up to 4.3.1 renews the markers of all readers in the hash, and cuts those of ours to its watchdog timeout.
// Later versions cut the hash alone.
func TestAFixedReadLeaseLastsWhateverAJavaReaderLeaves(t *testing.T) {
	for _, older := range []bool{true, false} {
		t.Run(map[bool]string{true: "up to 4.3.1", false: "since 4.4.0"}[older], func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				a, w := k.process(), k.process()
				start := time.Now()
				r := k.take(a.RLock, k.ctx, redlatch.WithLease(9*time.Second))
				java := k.javaReader()
				for range 2 {
					time.Sleep(javaWatchdog / 3)
					own := []string{k.marker(java.owner, 1)}
					if older {
						own = append(own, k.marker(r.Owner(), 1))
					}
					java.renew(own...)
				}
				// Now the Java process dies.
				for time.Since(start) < 8800*time.Millisecond {
					require.True(k, r.Valid())
					k.taken(w.TryLock)
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(time.Until(start.Add(9 * time.Second)))
				require.False(k, r.Valid())
				time.Sleep(10 * time.Millisecond)
				k.free(w.TryLock) // what it was promised is restored, and not a moment more
			})
		})
	}
}

// A renewed hold does the same at each of its renewals.
func TestARenewedReadHoldLastsWhateverAJavaReaderLeaves(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, w := k.process(redlatch.WithWatchdogTimeout(javaWatchdog)), k.process()
		r := k.take(a.RLock, k.ctx)
		java := k.javaReader()
		time.Sleep(javaWatchdog / 3)
		java.renew(k.marker(java.owner, 1), k.marker(r.Owner(), 1))
		for range 20 {
			time.Sleep(time.Second)
			require.True(k, r.Valid())
			k.taken(w.TryLock)
		}
		k.give(r)
	})
}

// A lease that is as long as Java's renewals leave it, at the latest, is looked at in time.
func TestALongFixedReadLeaseIsRestoredInFull(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, w := k.process(), k.process()
		start := time.Now()
		r := k.take(a.RLock, k.ctx, redlatch.WithLease(10*time.Minute))
		java := k.javaReader()
		for range 10 {
			time.Sleep(10 * time.Second)
			require.NoError(k, k.client.PExpire(k.ctx, k.name, 30*time.Second).Err())
			require.NoError(k, k.client.PExpire(k.ctx, k.marker(r.Owner(), 1), 30*time.Second).Err())
			require.NoError(k, k.client.Set(k.ctx, k.marker(java.owner, 1), "1", 30*time.Second).Err())
		}
		for time.Since(start) < 10*time.Minute-time.Second*10 {
			time.Sleep(5 * time.Second)
			require.True(k, r.Valid())
			k.taken(w.TryLock)
		}
		time.Sleep(time.Until(start.Add(10 * time.Minute)))
		time.Sleep(10 * time.Millisecond)
		k.free(w.TryLock)
	})
}

// Redisson 3.44 to 3.52 renews the markers of the first of a process's read locks twice, and those of the others never.
// The hash it renews, and its own writers stay out.
func TestAJavaReaderWhoseMarkerIsNotRenewedKeepsWritersOut(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, w := k.process(), k.process()
		java := k.javaReader()
		asked := k.asks(w.Lock, k.ctx)
		for i := range 100 {
			time.Sleep(javaWatchdog / 3)
			java.renew()
			if i%7 == 3 { // readers of ours come and go, and lengthen the hash, and shorten it
				r := k.take(a.RLock, k.ctx)
				time.Sleep(time.Duration(i) * time.Second / 20)
				java.renew()
				time.Sleep(time.Second)
				k.give(r)
			}
			locked, err := a.Reader().IsLocked(k.ctx)
			require.NoError(k, err)
			require.True(k, locked)
			k.waits(asked)
		}
		java.unlock()
		k.give(k.served(asked))
		require.Empty(k, k.keys())
	})
}

// A Java reader that died has no marker either. Readers of ours that come and go must not keep it alive.
func TestADeadJavaReaderDoesNotKeepWritersOutForLong(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, w := k.process(), k.process()
		r := k.take(a.RLock, k.ctx)
		k.javaReader()
		time.Sleep(javaWatchdog)
		died := time.Now()
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		asked := k.asks(w.Lock, ctx)
		k.give(r)
		others := 0
		for len(asked) == 0 {
			r, err := a.RLock(ctx, redlatch.WithLease(time.Hour))
			require.NoError(k, err)
			time.Sleep(100 * time.Millisecond)
			k.give(r)
			time.Sleep(400 * time.Millisecond)
			others++
		}
		got := <-asked
		require.NoError(k, got.err)
		require.Less(k, got.at.Sub(died), 31*time.Second)
		require.Greater(k, others, 50)
		k.give(got.hold)
		require.Empty(k, k.keys())
	})
}

// Nor does a reader of ours that died beside a Java reader that lives without a marker.
func TestADeadReaderOfOursIsNoneOfRedissons(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, w := k.process(), k.process()
		java := k.javaReader()
		r := k.take(a.RLock, k.ctx, redlatch.WithLease(time.Second)) // is never given back
		for range 10 {
			time.Sleep(javaWatchdog / 3)
			java.renew()
		}
		k.taken(w.TryLock)
		require.NotContains(k, k.fields(), r.Owner())
		java.unlock()
		k.free(w.TryLock)
	})
}

// A reader whose marker no script knows, for it has come since the script was sent last, keeps no call from its answer: neither a writer that
// asks, nor a reader of ours that leaves. Each script finds another one here.
func TestJavaReadersThatComeAndGoKeepNobodyWaiting(t *testing.T) {
	fakeTime(t, func(k *kit) {
		var mu sync.Mutex
		var last string
		come := func(nth int64) {
			mu.Lock()
			defer mu.Unlock()
			owner := "b983c153-7421-469a-addb-44fb92259a1b:" + strconv.FormatInt(nth, 10)
			require.NoError(k, k.client.HSet(k.ctx, k.name, "mode", "read", owner, "1").Err())
			require.NoError(k, k.client.Set(k.ctx, k.marker(owner, 1), "1", javaWatchdog).Err())
			require.NoError(k, k.client.HDel(k.ctx, k.name, last).Err())
			require.NoError(k, k.client.Del(k.ctx, k.marker(last, 1)).Err())
			javaReader{k, owner}.expire(k.name)
			last = owner
		}
		come(1_000_000)
		client := redis.NewClient(redistest.InMemoryOptions(k.mini))
		k.Cleanup(func() { _ = client.Close() })
		var over atomic.Bool
		client.AddHook(&redistest.Gate{Key: k.name, Pass: func(nth int64, execute func() error) error {
			if !over.Load() {
				come(nth)
			}
			return execute()
		}})
		lock := k.over(client)
		begin := time.Now()
		k.taken(lock.TryLock)
		held, err := lock.Reader().IsLocked(k.ctx)
		require.NoError(k, err)
		require.True(k, held)
		info, err := lock.Inspect(k.ctx)
		require.NoError(k, err)
		require.Len(k, info.Holders, 1)
		require.Equal(k, javaWatchdog, info.Holders[0].TTL)
		hold := k.take(lock.RLock, k.ctx)
		k.give(hold)
		require.NotContains(k, k.fields(), hold.Owner())
		require.Equal(k, javaWatchdog, k.ttl(k.name), "no marker outlasts the lock")

		freed, err := lock.Reader().ForceUnlock(k.ctx)
		require.NoError(k, err)
		require.True(k, freed)

		hold = k.take(lock.RLock, k.ctx)
		writer := k.asks(lock.Lock, k.ctx)
		k.waits(writer)
		k.give(hold)
		require.NotContains(k, k.fields(), hold.Owner())
		k.waits(writer)
		over.Store(true)
		javaReader{k, last}.unlock()
		k.give(k.served(writer))
		require.Zero(k, time.Since(begin))
	})
}
