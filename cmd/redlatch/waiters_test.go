package main

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

func TestInspectShowsTheWaitersInTheirOrder(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		for _, kind := range []func() locktest.Lock{
			func() locktest.Lock { return rlock.New(srv.Client(t), "plain") }, func() locktest.Lock { return fairlock.New(srv.Client(t), "fair") },
		} {
			first := kind()
			hold, err := first.Lock(t.Context(), redlatch.WithLease(time.Hour))
			require.NoError(t, err)
			waiting := func() (ids []string) {
				var document struct {
					Object struct {
						Waiting []struct {
							ClientID string `json:"client_id"`
						}
					}
				}
				require.NoError(t, json.Unmarshal([]byte(show(t, "redis://"+srv.Addr, "inspect", first.Name(), "-o", "json")), &document))
				for _, w := range document.Object.Waiting {
					ids = append(ids, w.ClientID)
				}
				return ids
			}
			ctx, stop := context.WithCancel(t.Context())
			var waits sync.WaitGroup
			before := []string{}
			for n := 1; n <= 3; n++ {
				lock := kind()
				waits.Go(func() { _, _ = lock.Lock(ctx) }) // ends with ctx
				redistest.Eventually(t, "one more waits", func() bool { return len(waiting()) == n })
				require.Equal(t, before, waiting()[:n-1:n-1], "whoever comes stands behind the others")
				before = waiting()
			}
			stop()
			waits.Wait()
			require.NoError(t, hold.Unlock(context.Background()))
		}
	})
}

// What a program has said of a wait stays for ten minutes after it has ended.
func TestAProgramThatHasEndedWaitsForNothing(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		client, url := srv.Client(t), "redis://"+srv.Addr
		since := moment(t, client, 5*time.Minute+2*time.Second)
		enter(t, client, dead, 5*time.Minute, registry.About{Host: "batch-1", PID: 7, Program: "job", Language: "go"},
			registry.Thing{Kind: "lock", Key: "nightly", Waiters: 3, WaitingSince: since})
		enter(t, client, living, time.Second, registry.About{Host: "batch-2", PID: 9, Program: "job", Language: "go"},
			registry.Thing{Kind: "lock", Key: "other", Waiters: 1, WaitingSince: moment(t, client, time.Second)})

		ls := show(t, url, "ls")
		require.Regexp(t, `(?s)\nother .*\nnightly +lock +nobody +1 silent\n`, ls)
		top := show(t, url, "top", "--once")
		require.Regexp(t, `contention 1\.00  held 0  waiting 1  clients 2, 1 silent`, top)
		require.Regexp(t, `\n +0\.00  1 silent +nightly`, top)
		inspect := show(t, url, "inspect", "nightly")
		require.Regexp(t, `1\. batch-1 job pid 7, 3 calls, for [2-9]\.\d s by its last report\n`, inspect)
		require.Contains(t, inspect, "last seen 5 min ago, probably dead")
		require.Contains(t, inspect, "Nothing: nobody holds it.")
		require.NotContains(t, inspect, "Look again")

		var document struct {
			Object struct {
				Waiting []struct {
					Silent bool
					Waited float64 `json:"waited_seconds"`
				}
			}
			Clients []struct{ Seen time.Time }
		}
		require.NoError(t, json.Unmarshal([]byte(show(t, url, "inspect", "nightly", "-o", "json")), &document))
		require.Len(t, document.Object.Waiting, 1)
		require.True(t, document.Object.Waiting[0].Silent)
		require.Len(t, document.Clients, 1)
		untilItsReport := float64(document.Clients[0].Seen.UnixMilli()-since) / 1000 // two seconds, and how long the machine took to write it
		require.InDelta(t, untilItsReport, document.Object.Waiting[0].Waited, 0.0005)
		require.Less(t, untilItsReport, 60.0)
	})
}
