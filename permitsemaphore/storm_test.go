package permitsemaphore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// stormPermits are few enough to be fought for.
const stormPermits = 5

// A span is the time in which somebody relied on n permits.
type span struct {
	from, to time.Time
	n        int
}

// A storm is many workers of several sessions that acquire, wait, cancel, drop, release and pass on ids.
type storm struct {
	acquired, cancelled, expired atomic.Int64

	calm func() // ends the faults; may be nil

	mu    sync.Mutex
	spans []span
	ids   map[string]bool
}

func (st *storm) record(from time.Time, p *permitsemaphore.Permit, ids []string, repeated func(id string)) {
	to := time.Now()
	if until := p.Until(); until.Before(to) {
		to = until
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if to.After(from) {
		st.spans = append(st.spans, span{from, to, len(ids)})
	}
	for _, id := range ids {
		if st.ids[id] {
			repeated(id)
		}
		st.ids[id] = true
	}
}

// most is the largest number of permits that were relied on at one moment.
func (st *storm) most() (most int) {
	type event struct {
		at time.Time
		n  int
	}
	var all []event
	for _, s := range st.spans {
		all = append(all, event{s.from, s.n}, event{s.to, -s.n})
	}
	slices.SortFunc(all, func(a, b event) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.n - b.n
	})
	held := 0
	for _, e := range all {
		held += e.n
		most = max(most, held)
	}
	return most
}

// work makes one attempt at n permits, and does with them what the dice say.
func (st *storm) work(t *testing.T, s, other *permitsemaphore.Semaphore) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lease, short := redlatch.Option(nil), false // renewed
	switch rand.N(4) {
	case 0:
		lease = permitsemaphore.WithoutExpiry()
	case 1:
		lease, short = redlatch.WithLease(15*time.Millisecond), true
	}
	if rand.N(4) == 0 {
		time.AfterFunc(rand.N(2*time.Millisecond), cancel)
	}
	n := 1 + rand.N[int64](3)
	p, err := s.Acquire(ctx, n, lease)
	if err != nil {
		st.cancelled.Add(1)
		// A lease of a few milliseconds may be over before its answer is there.
		late := short && errors.Is(err, redlatch.ErrUnavailable) && strings.Contains(err.Error(), "longer than their lease")
		if ctx.Err() == nil && !late {
			t.Errorf("an acquisition that nobody cancelled: %v", err)
		}
		return
	}
	from, ids := time.Now(), p.IDs()
	st.acquired.Add(1)
	if rand.N(8) == 0 {
		time.Sleep(rand.N(20 * time.Millisecond)) // work, which may outlast the lease
	}
	st.record(from, p, ids, func(id string) { t.Errorf("id %s was given out twice", id) })
	switch dice := rand.N(20); {
	case dice < 10 && !p.Valid(): // dropped after its end
		st.expired.Add(1)
	case dice == 1:
		released, err := other.TryRelease(ctx, ids...)
		if err != nil && ctx.Err() == nil {
			t.Errorf("release by ids: %v", err)
		}
		if !released {
			st.expired.Add(1)
		}
	default:
		if err := p.Release(ctx); err != nil {
			st.expired.Add(1)
			if !isLoss(err) && !errors.Is(err, redlatch.ErrUncertain) {
				t.Errorf("release: %v", err)
			}
		}
	}
}

// run lets the storm go on until there were that many acquisitions, and checks what is left of the semaphore.
func (st *storm) run(t *testing.T, clients []*redis.Client, direct *redis.Client, key string, acquisitions int64) {
	st.ids = map[string]bool{}
	var all []*permitsemaphore.Semaphore
	for _, client := range clients {
		all = append(all, permitsemaphore.New(client, key, briefly.Linger(0), redlatch.WithLogger(discard), redlatch.WithOutage(time.Minute)))
	}
	watch := permitsemaphore.New(direct, key, briefly.Linger(0))
	ctx := context.Background()
	_, err := watch.TrySetPermits(ctx, stormPermits)
	require.NoError(t, err)

	var workers sync.WaitGroup
	end := time.Now().Add(5 * time.Minute)
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() { // available and taken add up at any time
		defer close(watched)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				if total, err := watch.TotalPermits(ctx); err != nil || total != stormPermits {
					t.Errorf("there are %d permits (%v), should be %d", total, err, stormPermits)
				}
			}
		}
	}()
	for i := range 24 {
		workers.Go(func() {
			for st.acquired.Load() < acquisitions && !t.Failed() && time.Now().Before(end) {
				st.work(t, all[i%len(all)], all[(i+1)%len(all)])
			}
		})
	}
	workers.Wait()
	close(stop)
	<-watched
	if st.calm != nil {
		st.calm()
	}
	require.GreaterOrEqual(t, st.acquired.Load(), acquisitions, "in five minutes")
	eventually(t, "all permits are back", func() bool {
		available, err := watch.AvailablePermits(ctx)
		require.NoError(t, err)
		return available == stormPermits
	})
	acquired, err := watch.AcquiredPermits(ctx)
	require.NoError(t, err)
	require.Zero(t, acquired)
	require.LessOrEqual(t, st.most(), stormPermits, "more permits were relied on at one moment than there are")
	require.NotZero(t, st.cancelled.Load())
	t.Logf("%d acquisitions, %d cancelled, %d ended by their lease, at most %d permits at a time",
		st.acquired.Load(), st.cancelled.Load(), st.expired.Load(), st.most())
}

func clientsOf(t *testing.T, srv *redistest.Server, n int) (all []*redis.Client) {
	for range n {
		all = append(all, srv.Client(t))
	}
	return all
}

func TestNoPermitIsLostOrInventedOverTenThousandAcquisitions(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		acquisitions := int64(400)
		if srv.Real {
			acquisitions = 10_000
		}
		acquisitions = int64(redistest.Rounds(int(acquisitions/10), int(acquisitions)))
		var st storm
		st.run(t, clientsOf(t, srv, 4), srv.Client(t), srv.Key(t, "s"), acquisitions)
	})
}

// The clock of the server is that of the clients, shifted: all that a client could do with its own clock would be wrong
// by ten minutes.
func TestNoPermitIsLostOrInventedWithClocksTenMinutesApart(t *testing.T) {
	for name, shift := range map[string]time.Duration{"the clients are ahead": -10 * time.Minute, "the clients are behind": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			srv := redistest.Mini(t)
			shifted(srv, shift)
			var st storm
			st.run(t, clientsOf(t, srv, 4), srv.Client(t), srv.Key(t, "s"), 300)
		})
	}
}

// shifted sets the server's clock off by d. It is set anew before each script: a clock that is set now and then stands
// still for as long as a busy machine likes, and then takes leases away that it has given too late.
func shifted(srv *redistest.Server, d time.Duration) {
	var one sync.Mutex // else an older time could be set after a newer one
	srv.Mini.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		if strings.HasPrefix(command, "EVAL") { // within a script, whose commands come here too, miniredis is locked
			one.Lock()
			defer one.Unlock()
			srv.Mini.SetTime(time.Now().Add(d))
		}
		return false
	})
}

// Two clients whose clocks differ take a permit each from a server with a third opinion. Neither loses its own, and
// neither gets the other's.
func TestAPermitLastsItsLeaseWhateverTheClocksSay(t *testing.T) {
	for name, shift := range map[string]time.Duration{"the client is ahead": -10 * time.Minute, "the client is behind": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			srv := redistest.Mini(t)
			shifted(srv, shift)
			s, client := fresh(t, srv, 1, redlatch.WithPoll(long), redlatch.WithWatchdogTimeout(3*time.Second))
			begin := time.Now()
			p := acquire(t, s, 1, redlatch.WithLease(time.Second))
			require.InDelta(t, float64(begin.Add(shift+time.Second).UnixMilli()), score(t, client, s.Name(), id(p)), 60_000)
			q := receive(t, acquiring(t.Context(), s, 1))
			require.GreaterOrEqual(t, time.Since(begin), 990*time.Millisecond, "the permit was given away while it lasted")
			require.False(t, p.Valid())
			last := score(t, client, s.Name(), id(q))
			eventually(t, "renewals", func() bool { return score(t, client, s.Name(), id(q)) > last+1500 })
			require.NoError(t, q.Release(t.Context()))
		})
	}
}

// The same under cut connections and lost replies.
func TestNoPermitIsLostOrInventedUnderFaults(t *testing.T) {
	srv := redistest.Process(t)
	warm(t, srv)
	proxy := faultproxy.New(t, srv.Addr)
	var clients []*redis.Client
	for range 3 {
		clients = append(clients, srv.Client(t, func(o *redis.Options) { o.Addr, o.ReadTimeout = proxy.Addr(), brief }))
	}
	key := srv.Key(t, "s")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			var rule *faultproxy.Rule
			switch i % 3 {
			case 0:
				proxy.CutAll()
			case 1:
				rule = proxy.On(onCall(key), 1, faultproxy.DropReply)
			default:
				rule = proxy.On(onCall(key), 1, faultproxy.Delay(2*brief))
			}
			select {
			case <-stop:
			case <-time.After(60 * time.Millisecond):
			}
			if rule != nil {
				rule.Remove()
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	st := storm{calm: func() { close(stop); <-stopped }}
	st.run(t, clients, srv.Client(t), key, 1000)
}
