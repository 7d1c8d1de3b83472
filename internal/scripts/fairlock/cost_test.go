package fairlock_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// What a script costs the server is what it calls there. In a queue in which all are ours the calls are as many for 2048
// waiters as for 16, and none of them goes along a whole list or set. Who leaves may be looked for in the list, once.
func TestNoScriptCostsMoreTheMoreThereAreThatWait(t *testing.T) {
	srv := redistest.Process(t)
	ctx, client := t.Context(), srv.Client(t)
	holder := "holder:0"
	steps := []struct {
		name string
		call func(waiters []string) error
	}{
		{"who comes", func([]string) error { _, err := Send(ctx, client, acquire("last:1")); return err }},
		{"who tries", func([]string) error { _, err := Send(ctx, client, try("hurry:1")); return err }},
		{"who is next asks", func(waiters []string) error { _, err := Send(ctx, client, acquire(waiters[0])); return err }},
		{"who is in the middle asks", func(waiters []string) error {
			_, err := Send(ctx, client, acquire(waiters[len(waiters)/2]))
			return err
		}},
		{"a process gives a sign of life", func(waiters []string) error {
			_, err := Send(ctx, client, acquire(waiters[0], w(waiters[4]), w(waiters[len(waiters)-1]), w("gone:1")))
			return err
		}},
		{"who waits leaves", func(waiters []string) error {
			_, err := Send(ctx, client, fairlock.Release(key, w(waiters[len(waiters)-1]), wake))
			return err
		}},
		{"who holds gives back", func([]string) error {
			_, err := Send(ctx, client, fairlock.Release(key, w(holder), wake))
			return err
		}},
		{"who is next acquires", func(waiters []string) error {
			answer, err := Send(ctx, client, acquire(waiters[0]))
			require.True(t, answer.Held)
			return err
		}},
		{"an administrator takes it away", func([]string) error {
			_, err := Send(ctx, client, fairlock.Force(key, wake))
			return err
		}},
	}
	calls := make(map[string]map[string]int64) // of the fewer waiters, by step
	for i, n := range []int{16, 16, 2048} {    // the first time sends the scripts themselves
		require.NoError(t, client.FlushDB(ctx).Err())
		order, deadlines, alive := List{}, Deadlines{}, Deadlines{}
		for i := range n {
			owner := fmt.Sprintf("%d:%d", i%4, i)
			order, deadlines[owner], alive[owner] = append(order, owner), time.Hour, time.Hour
		}
		seed(t, client, state(holder, order, deadlines, alive))
		for _, step := range steps {
			before := srv.CommandStats(t)
			require.NoError(t, step.call(order), step.name)
			made := srv.CommandStats(t)
			for name, count := range before {
				made[name] -= count
			}
			maps.DeleteFunc(made, func(_ string, count int64) bool { return count == 0 })
			for _, walks := range []string{"lpos", "zrange", "zrangebyscore", "zincrby", "zrank", "zcount", "smembers"} {
				require.Zero(t, made[walks], "%s: %s", step.name, walks)
			}
			if step.name != "who waits leaves" {
				require.Zero(t, made["lrem"], step.name)
			}
			switch i {
			case 1:
				calls[step.name] = made
			case 2:
				require.Equal(t, calls[step.name], made, step.name)
			}
		}
	}
}

// A lock for which nobody waits costs what a plain one does, and one look.
func TestALockForWhichNobodyWaitsCostsOneLookMoreThanAPlainOne(t *testing.T) {
	srv := redistest.Process(t)
	ctx, client := t.Context(), srv.Client(t)
	for _, count := range []bool{false, true} {
		before := srv.CommandStats(t)
		_, err := Send(ctx, client, acquire(a))
		require.NoError(t, err)
		_, err = Send(ctx, client, fairlock.Release(key, w(a), wake))
		require.NoError(t, err)
		made := srv.CommandStats(t)
		for name, n := range before {
			made[name] -= n
		}
		maps.DeleteFunc(made, func(_ string, n int64) bool { return n == 0 })
		if count {
			require.Equal(t, map[string]int64{"evalsha": 2, "pttl": 1, "exists": 2, "hset": 1, "pexpire": 1, "hdel": 1}, made)
		}
	}
}
