package session_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A holder holds a key, and says by how many of its like a script may be shared.
type holder struct {
	watchdog.Ticket
	session *session.Session
	key     string
	share   int
	lost    atomic.Bool
	forced  atomic.Pointer[string] // what a renewal has found in its place; nil: nothing was found out
}

func (h *holder) Batch() watchdog.Batch  { return h.session.BatchOf("test", h.key) }
func (h *holder) Log() *slog.Logger      { return slog.New(slog.DiscardHandler) }
func (h *holder) Lost(string, error)     { h.lost.Store(true) }
func (*holder) Renewed(time.Time, error) {}
func (h *holder) Gone(forced string)     { h.forced.Store(&forced) }

func (h *holder) Renewal(tickets []*watchdog.Ticket) (scripts.Command[scripts.Kept], int) {
	n := min(h.share, len(tickets))
	renewals := make([]rlock.Renewal, n)
	for i, t := range tickets[:n] {
		renewals[i] = rlock.Renewal{Key: t.Owner().(*holder).key, Owner: "me", Lease: t.Lease(time.Now())}
	}
	return rlock.Renew(renewals), n
}

// A trips client counts what it is sent.
type trips struct {
	*redis.Client
	mu      sync.Mutex
	sizes   []int // commands in each round trip
	sources int   // of them with the source of a script
}

// inMemory is a client on fake time.
func inMemory(t *testing.T) *trips {
	_, client := redistest.InMemory(t)
	return &trips{Client: client}
}

func (c *trips) Process(ctx context.Context, cmd redis.Cmder) error {
	c.note(cmd)
	return c.Client.Process(ctx, cmd)
}

func (c *trips) Pipeline() redis.Pipeliner {
	return &counted{c.Client.Pipeline(), c}
}

func (c *trips) note(cmds ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sizes = append(c.sizes, len(cmds))
	for _, cmd := range cmds {
		if cmd.Name() == "eval" {
			c.sources++
		}
	}
}

func (c *trips) taken() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]int(nil), c.sizes...)
}

type counted struct {
	redis.Pipeliner
	client *trips
}

func (p *counted) Exec(ctx context.Context) ([]redis.Cmder, error) {
	p.client.note(p.Cmds()...)
	return p.Pipeliner.Exec(ctx)
}

// keep has holders kept whose keys exist, but for those at the places that are gone. Their leases are far off: what
// moves are the sends.
func keep(t *testing.T, client *trips, n, share int, gone ...int) []*holder {
	t.Helper()
	s := session.Of(client, quick())
	holders := make([]*holder, n)
	for i := range holders {
		holders[i] = &holder{session: s, key: fmt.Sprint("held", i), share: share}
		require.NoError(t, client.HSet(t.Context(), holders[i].key, "me", 1).Err())
	}
	for _, i := range gone {
		require.NoError(t, client.Del(t.Context(), holders[i].key).Err())
	}
	for _, h := range holders {
		s.Watchdog.Keep(&h.Ticket, h, watchdog.Terms{
			Lease: time.Hour, Every: 3 * time.Second, Trusted: time.Now().Add(time.Hour), Margin: time.Second})
		t.Cleanup(func() { s.Watchdog.Forget(&h.Ticket) })
	}
	return holders
}

func TestRenewalsOfOneServerAreOneRoundTripAndAnUnknownScriptASecond(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client := inMemory(t)
		holders := keep(t, client, 450, 100, 7, 320)
		time.Sleep(7 * time.Second) // two rounds
		require.Equal(t, []int{5, 5, 5}, client.taken(), "450 in five scripts, the first time with their source besides")
		require.Equal(t, 5, client.sources)
		for i, h := range holders {
			require.Equal(t, i == 7 || i == 320, h.lost.Load(), "holder %d", i)
			if !h.lost.Load() {
				require.Greater(t, client.PTTL(t.Context(), h.key).Val(), time.Minute, "holder %d is not renewed", i)
			}
		}
	})
}

// A batch whose tickets stand for more work than one script should have becomes several.
func TestABatchThatIsTooMuchForOneScriptIsAnsweredAsOne(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client := inMemory(t)
		holders := keep(t, client, 150, 7, 6, 149)
		time.Sleep(4 * time.Second) // one round
		require.Equal(t, []int{15 + 8, 15 + 8}, client.taken(), "of 100 tickets and of 50, seven in a script")
		for i, h := range holders {
			require.Equal(t, i == 6 || i == 149, h.lost.Load(), "holder %d", i)
		}
	})
}

func TestALoneRenewalIsNoPipeline(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client := inMemory(t)
		keep(t, client, 1, 100)
		time.Sleep(7 * time.Second) // two rounds
		require.Equal(t, []int{1, 1, 1}, client.taken())
	})
}

// A shifting client is a cluster's whose only master is dead, until somebody has it look at the topology again.
type shifting struct {
	*redis.Client // of the successor
	dead          *redis.Client
	looked        atomic.Bool
}

func (c *shifting) MasterForKey(context.Context, string) (*redis.Client, error) {
	if c.looked.Load() {
		return c.Client, nil
	}
	return c.dead, nil
}

func (c *shifting) ReloadState(context.Context) { c.looked.Store(true) }

// A process that only holds sends nothing but renewals: nobody else would find out that the primary has changed.
func TestARenewalThatDoesNotReachItsMasterLooksForTheSuccessor(t *testing.T) {
	client := &shifting{Client: redistest.Mini(t).Client(t), dead: idle(t)}
	s := session.Of(client, quick())
	h := &holder{session: s, key: "held", share: 100}
	require.NoError(t, client.HSet(t.Context(), h.key, "me", 1).Err())
	s.Watchdog.Keep(&h.Ticket, h, watchdog.Terms{
		Lease: time.Hour, Every: 300 * time.Millisecond, Trusted: time.Now().Add(time.Hour), Margin: time.Second})
	t.Cleanup(func() { s.Watchdog.Forget(&h.Ticket) })
	eventually(t, "a renewal by the successor", func() bool { return client.PTTL(t.Context(), h.key).Val() > time.Minute })
}

// A crowded client is a cluster's whose only master gives no connection for a while.
type crowded struct {
	*redis.Client
	asked, looked atomic.Int64
}

func (c *crowded) MasterForKey(context.Context, string) (*redis.Client, error) { return c.Client, nil }
func (c *crowded) ReloadState(context.Context)                                 { c.looked.Add(1) }

// What is looked up then is wrong for nobody, and each waiter of the process would have to subscribe and ask anew.
func TestARenewalThatNobodyWaitsForAnyMoreIsNoSignThatThePrimaryHasChanged(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		c := &crowded{}
		m, _ := redistest.InMemory(t)
		options := redistest.InMemoryOptions(m)
		options.DialerRetries = 1
		options.Dialer = func(context.Context, string, string) (net.Conn, error) {
			c.asked.Add(1)
			time.Sleep(time.Minute)
			return nil, errors.New("gone")
		}
		c.Client = redis.NewClient(options)
		t.Cleanup(func() { _ = c.Close() })
		s := session.Of(c, quick())
		h := &holder{session: s, key: "held", share: 100}
		s.Watchdog.Keep(&h.Ticket, h, watchdog.Terms{
			Lease: 30 * time.Second, Every: 10 * time.Second, Trusted: time.Now().Add(30 * time.Second), Margin: time.Second})
		time.Sleep(11 * time.Second)
		require.EqualValues(t, 1, c.asked.Load())
		s.Watchdog.Forget(&h.Ticket)
		synctest.Wait()
		require.Zero(t, c.looked.Load())
		time.Sleep(2 * time.Minute)
		require.Zero(t, c.looked.Load())
	})
}
