package rwlock_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

// turns has a script hand the lock from a writer to a reader of its process, behind whom a second reader waits. answer is called while
// the answer of the script is on its way.
func (k *kit) turns(answer func(), second ...redlatch.Option) (readers [2]<-chan grant) {
	k.Helper()
	var awaited atomic.Bool
	gate := &redistest.Gate{Key: k.name, Pass: func(_ int64, execute func() error) error {
		err := execute()
		if !redis.HasErrorPrefix(err, "NOSCRIPT") && awaited.Swap(false) {
			answer()
		}
		return err
	}}
	client := redis.NewClient(redistest.InMemoryOptions(k.mini))
	client.AddHook(gate)
	k.Cleanup(func() { _ = client.Close() })
	lock := rwlock.New(client, k.name, briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)))
	k.give(k.heard(lock))
	w := k.heard(lock)
	readers[0] = k.asks(lock.RLock, k.ctx)
	synctest.Wait()
	readers[1] = k.asks(lock.RLock, k.ctx, second...)
	synctest.Wait()
	k.mini.Publish(keys.ReadWriteChannel(k.name), "0") // so that the writer's news is old
	time.Sleep(time.Millisecond)
	awaited.Store(true)
	k.give(w)
	got := <-readers[0]
	require.NoError(k, got.err)
	require.NotEqual(k, w.Owner(), got.hold.Owner(), "no script has handed the lock over")
	return readers
}

func TestReadersBehindOneThatAScriptHadHoldComeIn(t *testing.T) {
	for name, test := range map[string]struct {
		late time.Duration
		opts []redlatch.Option
	}{
		"at once":                     {},
		"although the streak is over": {late: 3 * time.Millisecond},
		"although they cannot join it, but have to ask": {opts: []redlatch.Option{redlatch.WithLease(time.Minute)}},
	} {
		t.Run(name, func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				readers := k.turns(func() { time.Sleep(test.late) }, test.opts...)
				k.served(readers[1])
			})
		})
	}
}

func TestAReaderJoinsNobodyWhoWasForcedOutBeforeItsAnswerCame(t *testing.T) {
	fakeTime(t, func(k *kit) {
		other := k.process()
		var w *redlatch.Hold
		readers := k.turns(func() {
			freed, err := other.Reader().ForceUnlock(context.Background())
			require.NoError(k, err)
			require.True(k, freed)
			w = k.take(other.TryLock, k.ctx)
			synctest.Wait() // the message has come
		})
		k.waits(readers[1])
		k.give(w)
		k.served(readers[1])
	})
}
