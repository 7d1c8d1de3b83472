package redistest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestInMemoryKeysExpireWithTheBubblesClock(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		ok(t, client.Set(t.Context(), "k", "v", time.Hour).Err())

		time.Sleep(time.Hour - time.Millisecond)
		equal(t, time.Millisecond, client.PTTL(t.Context(), "k").Val())
		time.Sleep(time.Millisecond)
		is(t, client.Get(t.Context(), "k").Err(), redis.Nil)
	})
	if took := time.Since(began); took > time.Minute {
		t.Fatalf("an hour of the bubble took %v of real time", took)
	}
}

func TestInMemoryTakesPipelinesOfAnySizeWithoutFakeTimePassing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		began := time.Now()
		cmds, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for i := range 400 {
				pipe.Set(t.Context(), fmt.Sprint("key", i), strings.Repeat("x", 100), 0)
			}
			return nil
		})
		ok(t, err)
		equal(t, 400, len(cmds))
		equal(t, 0, time.Since(began)) // more means that a write waited for a timeout
		equal(t, int64(400), client.DBSize(t.Context()).Val())
	})
}

func TestInMemoryDeliversMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		sub := client.Subscribe(t.Context(), "ch")
		_, err := sub.Receive(t.Context())
		ok(t, err)

		var got []string
		go func() {
			for {
				msg, err := sub.ReceiveMessage(t.Context())
				if err != nil {
					return // closed below
				}
				got = append(got, msg.Payload)
			}
		}()
		for i := range 3 {
			time.Sleep(10 * time.Minute)
			equal(t, int64(1), client.Publish(t.Context(), "ch", i).Val())
		}
		synctest.Wait()
		equal(t, []string{"0", "1", "2"}, got)
		ok(t, sub.Close())
	})
}

// Each message but the first would wait for a reader, and a command beside it for the publisher.
func TestInMemoryDoesNotWaitForASubscriberWhoDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		sub := client.Subscribe(t.Context(), "ch")
		_, err := sub.Receive(t.Context())
		ok(t, err)
		began := time.Now()
		for i := range 9 {
			equal(t, int64(1), client.Publish(t.Context(), "ch", i).Val())
		}
		equal(t, 0, time.Since(began))
		for i := range 9 {
			msg, err := sub.ReceiveMessage(t.Context())
			ok(t, err)
			equal(t, fmt.Sprint(i), msg.Payload)
		}
		ok(t, sub.Close())
	})
}

func TestInMemoryServesManyCallersInOneBubbleAfterAnother(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			_, client := redistest.InMemory(t)
			failed := make(chan error, 64)
			for range cap(failed) {
				go func() { failed <- client.Incr(t.Context(), "n").Err() }()
			}
			for range cap(failed) {
				ok(t, <-failed)
			}
			equal(t, "64", client.Get(t.Context(), "n").Val())
		})
	}
}

func TestABubbleLetsTheBackgroundFinishBeforeItTakesTheServerAway(t *testing.T) {
	var err error
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		go func() {
			for range 100 {
				if err = client.Incr(context.Background(), "n").Err(); err != nil {
					return
				}
			}
		}()
	})
	ok(t, err)
}
