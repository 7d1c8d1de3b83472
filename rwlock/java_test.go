package rwlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
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
