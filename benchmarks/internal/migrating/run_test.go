package migrating

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A lab is what the functions of the page need.
type lab struct {
	rdb    *redis.Client
	rs     *redsync.Redsync
	locker rueidislock.Locker
}

func newLab(t *testing.T) lab {
	srv := redistest.Process(t)
	pages, err := rueidislockOpen(srv.Addr)
	require.NoError(t, err)
	pages.Close()
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{srv.Addr}}, KeyMajority: 1, KeyValidity: 10 * time.Second,
		TryNextAfter: 10 * time.Second, // the 20 ms of the page's locker are too short for a busy machine
	})
	require.NoError(t, err)
	t.Cleanup(locker.Close)
	rdb := srv.Client(t)
	return lab{rdb, redsync.New(goredis.NewPool(rdb)), locker}
}

// A section is one function of the page, applied to a lab.
type section struct {
	run   func(ctx context.Context, l lab, work func(context.Context) error) error
	skips bool // while another is inside it does nothing
	force bool
}

var sections = map[string]section{
	"redsync, export": {run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redsyncExport(ctx, l.rdb, work)
	}},
	"redlatch, export": {run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redlatchExport(ctx, l.rdb, work)
	}},
	"redsync, nightly": {skips: true, run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redsyncNightly(ctx, l.rs, work)
	}},
	"redlatch, nightly": {skips: true, run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redlatchNightly(ctx, l.rdb, work)
	}},
	"redislock, charge": {run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redislockCharge(ctx, l.rdb, work)
	}},
	"redlatch, charge": {run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redlatchCharge(ctx, l.rdb, work)
	}},
	"rueidislock, sync": {run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return rueidislockSync(ctx, l.locker, work)
	}},
	"redlatch, sync": {run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redlatchSync(ctx, l.rdb, work)
	}},
	"rueidislock, try": {skips: true, run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return rueidislockTry(ctx, l.locker, work)
	}},
	"redlatch, try": {skips: true, run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redlatchTry(ctx, l.rdb, work)
	}},
	"rueidislock, force": {force: true, run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return rueidislockForce(ctx, l.locker, work)
	}},
	"redlatch, force": {force: true, run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return redlatchForce(ctx, l.rdb, work)
	}},
	"change over": {run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return changeOver(ctx, l.rs, l.rdb, "sync", work)
	}},
	"Redisson's, pay": {run: func(ctx context.Context, l lab, work func(context.Context) error) error {
		return pay(ctx, l.rdb, work)
	}},
}

func TestTheCodeOfThePageExcludes(t *testing.T) {
	for name, section := range sections {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var inside, most, done atomic.Int64
			work := func(context.Context) error {
				most.Store(max(most.Load(), inside.Add(1)))
				time.Sleep(20 * time.Millisecond) // the others shall find it taken
				inside.Add(-1)
				done.Add(1)
				return nil
			}
			if section.force { // it does not exclude
				require.NoError(t, section.run(t.Context(), l, work))
				require.Equal(t, int64(1), done.Load())
				return
			}
			var group errgroup.Group
			for range 4 {
				group.Go(func() error { return section.run(t.Context(), l, work) })
			}
			require.NoError(t, group.Wait())
			require.Equal(t, int64(1), most.Load())
			if !section.skips {
				require.Equal(t, int64(4), done.Load())
			}
			require.NoError(t, section.run(t.Context(), l, work), "it was given back")
		})
	}
}

func TestTheOthersSkipWhatOneDoes(t *testing.T) {
	for name, section := range sections {
		if !section.skips {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			require.NoError(t, section.run(t.Context(), l, func(ctx context.Context) error {
				return section.run(t.Context(), l, func(context.Context) error { return errors.New("two are inside") })
			}))
		})
	}
}

func TestASecondChargeIsBusy(t *testing.T) {
	for name, charge := range map[string]func(context.Context, *redis.Client, func(context.Context) error) error{
		"redislock": redislockCharge, "redlatch": redlatchCharge,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			require.NoError(t, charge(t.Context(), l.rdb, func(context.Context) error {
				require.Equal(t, errBusy, charge(t.Context(), l.rdb, func(context.Context) error { return nil }))
				return nil
			}))
		})
	}
}

func TestTheImportsWriteEveryPage(t *testing.T) {
	l := newLab(t)
	for _, run := range []func(context.Context, *redis.Client, []string, func(context.Context, string) error) error{
		redislockImport, redlatchImport,
	} {
		var written []string
		require.NoError(t, run(t.Context(), l.rdb, []string{"a", "b"}, func(_ context.Context, page string) error {
			written = append(written, page)
			return nil
		}))
		require.Equal(t, []string{"a", "b"}, written)
	}
}

func TestTheSettlementsTakeAMajority(t *testing.T) {
	var servers []*redis.Client
	for range 3 {
		servers = append(servers, redistest.Process(t).Client(t))
	}
	for _, settle := range []func(context.Context, []*redis.Client, func(context.Context) error) error{redsyncSettle, redlatchSettle} {
		done := false
		require.NoError(t, settle(t.Context(), servers, func(context.Context) error { done = true; return nil }))
		require.True(t, done)
	}
}

func TestTheCounterpartsOfRedissonsCode(t *testing.T) {
	l := newLab(t)
	paid, err := payWithin(t.Context(), l.rdb, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.True(t, paid)
	require.NoError(t, pay(t.Context(), l.rdb, func(context.Context) error {
		paid, err := payWithin(t.Context(), l.rdb, func(context.Context) error { return nil })
		require.NoError(t, err)
		require.False(t, paid)
		return nil
	}))
	require.NoError(t, crawl(t.Context(), l.rdb, func(ctx context.Context) error {
		free, err := semaphore.New(l.rdb, "crawler").AvailablePermits(ctx)
		require.Equal(t, int64(7), free)
		return err
	}))
	imports := countdownlatch.New(l.rdb, "import:7", redlatch.WithTTL(time.Hour))
	_, err = imports.TrySetCount(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, imports.CountDown(t.Context()))
	require.NoError(t, awaitImports(t.Context(), l.rdb))
}
