package permitsemaphore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

func TestALongJobKeepsItsPermits(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 2, redlatch.WithWatchdogTimeout(3*time.Second))
		p := acquire(t, s, 2)
		work := p.Context(ctx)
		begin := score(t, client, s.Name(), id(p))
		eventually(t, "two leases have passed", func() bool {
			until := float64(p.Until().UnixMilli())
			deadline := score(t, client, s.Name(), p.IDs()[1]) // read later: it may have been renewed since
			require.LessOrEqual(t, until, deadline, "trusted for longer than the server holds it")
			return deadline > begin+2*3000
		})
		require.NoError(t, work.Err())
		_, err := s.TryAcquire(ctx, 1)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.NoError(t, p.Release(ctx))
		requireState(t, client, s.Name(), "2", 0)
	})
}

// Renewals of many permits share scripts.
func TestPermitsOfOneProcessAreRenewedTogether(t *testing.T) {
	srv := redistest.Process(t)
	ctx := t.Context()
	s, client := fresh(t, srv, 60, redlatch.WithWatchdogTimeout(3*time.Second))
	var all []*permitsemaphore.Permit
	for range 60 {
		all = append(all, acquire(t, s, 1))
	}
	begin := score(t, client, s.Name(), id(all[59]))
	before := srv.CommandStats(t)["evalsha"]
	eventually(t, "two renewals", func() bool { return score(t, client, s.Name(), id(all[59])) > begin+1800 })
	require.Less(t, srv.CommandStats(t)["evalsha"]-before, int64(40), "a script for each would be 60 a period")
	for _, p := range all {
		require.True(t, p.Valid())
		require.NoError(t, p.Release(ctx))
	}
}

func TestTheContextEndsBeforeTheServerGivesThePermitAway(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		s, key := r.semaphore(t, 1, redlatch.WithWatchdogTimeout(2*time.Second))
		p := acquire(t, s, 1)
		work := p.Context(t.Context())
		r.proxy.Hole(true, true)
		require.ErrorIs(t, ended(t, work), redlatch.ErrLost)
		require.False(t, p.Valid())
		deadline := score(t, r.direct, key, id(p))
		require.Less(t, float64(p.Until().UnixMilli()), deadline)
		r.proxy.Heal()
		require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrLost)
		requireState(t, r.direct, key, "1", 0)
	})
}

func TestAPermitThatWasTakenAwayIsNoticedAlsoWithoutRenewal(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		for _, lease := range []redlatch.Option{permitsemaphore.WithoutExpiry(), redlatch.WithLease(long), nil} {
			s, client := fresh(t, srv, 1, redlatch.WithWatchdogTimeout(2*time.Second))
			p := acquire(t, s, 1, lease)
			require.NoError(t, client.Del(t.Context(), s.Name()).Err())
			require.ErrorIs(t, ended(t, p.Context(t.Context())), redlatch.ErrLost)
		}
	})
}

func TestMaxHoldEndsARenewedPermit(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s, _ := fresh(t, srv, 1, redlatch.WithWatchdogTimeout(6*time.Second), redlatch.WithPoll(long))
		p := acquire(t, s, 1, redlatch.WithMaxHold(2500*time.Millisecond))
		var loss *redlatch.LossError
		require.ErrorAs(t, ended(t, p.Context(t.Context())), &loss)
		require.Equal(t, redlatch.ReasonLimitOver, loss.Reason)
		q := receive(t, acquiring(t.Context(), s, 1))
		require.NoError(t, q.Release(t.Context()))
	})
}

const childAddr, childName = "REDLATCH_TEST_PERMIT_ADDR", "REDLATCH_TEST_PERMIT_NAME"

// child is a process that takes permits, says so, and holds them until it is killed.
func child() {
	client := redis.NewClient(&redis.Options{Addr: os.Getenv(childAddr)})
	s := permitsemaphore.New(client, os.Getenv(childName), redlatch.WithWatchdogTimeout(3*time.Second))
	p, err := s.Acquire(context.Background(), 2)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(p.IDs(), " "))
	<-p.Context(context.Background()).Done()
	fmt.Println("lost")
}

func TestAKilledProcessGivesItsPermitsBack(t *testing.T) {
	srv := redistest.Process(t)
	s, client := fresh(t, srv, 2, redlatch.WithPoll(long))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childAddr+"="+srv.Addr, childName+"="+s.Name())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	ids := strings.Fields(line)
	require.Len(t, ids, 2, line)
	begin := score(t, client, s.Name(), ids[0])
	eventually(t, "it has been renewed past two leases", func() bool { return score(t, client, s.Name(), ids[1]) > begin+2*3000 })

	w := acquiring(t.Context(), s, 2)
	listened(t, srv, s.Name(), 1)
	requireState(t, client, s.Name(), "0", 2)
	require.NoError(t, cmd.Process.Kill())
	require.NoError(t, receive(t, w).Release(t.Context()))
	requireState(t, client, s.Name(), "2", 0)
}
