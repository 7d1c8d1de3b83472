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
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/rlock"
)

func TestInspectShowsTheWaitersInTheirOrder(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		for _, kind := range []func() redlatch.Lock{
			func() redlatch.Lock { return rlock.New(srv.Client(t), "plain") }, func() redlatch.Lock { return fairlock.New(srv.Client(t), "fair") },
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
