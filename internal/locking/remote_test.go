package locking_test

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A process is a client of its own, whose commands may be harmed, and whose connections may be.
type process struct {
	*baselock.Base
	client *redis.Client
	conns  []net.Conn
}

// another is the lock under test as another process has it.
func (k *kit) another(opts ...redlatch.Option) *process {
	return k.anotherOf(&plain, append(opts, confirmed)...)
}

func (k *kit) anotherOf(kind *baselock.Kind, opts ...redlatch.Option) *process {
	p := &process{}
	options := redistest.InMemoryOptions(k.mini)
	dial := options.Dialer
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err() // as net.Dialer does
		}
		k.mu.Lock()
		takes := k.dial
		k.mu.Unlock()
		time.Sleep(takes)
		conn, err := dial(ctx, network, addr)
		k.mu.Lock()
		defer k.mu.Unlock()
		deaf := &deafConn{Conn: conn}
		p.conns = append(p.conns, deaf)
		return deaf, err
	}
	p.client = redis.NewClient(options)
	k.Cleanup(func() { _ = p.client.Close() })
	p.client.AddHook(k)
	require.NoError(k, redlatch.Configure(p.client, k.said...))
	p.Base = baselock.New(p.client, name, kind, append([]redlatch.Option{briefly.Linger(0)}, opts...))
	return p
}

// deafen has the process hear no message any more on the subscriptions that it has.
func (k *kit) deafen(p *process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range p.conns {
		conn.(*deafConn).deaf.Store(true)
	}
}

// slow has the process hear messages late.
func (k *kit) slow(p *process, late time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range p.conns {
		conn.(*deafConn).late.Store(int64(late))
	}
}

// far has the other processes take so long to connect from now on.
func (k *kit) far(dial time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dial = dial
}

// A deafConn may lose what arrives, if it has subscriptions, or hear it late.
type deafConn struct {
	net.Conn
	subscribes, deaf atomic.Bool
	late             atomic.Int64 // time.Duration
}

func (c *deafConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("\r\nsubscribe\r\n")) {
		c.subscribes.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *deafConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if late := c.late.Load(); late > 0 && c.subscribes.Load() {
			time.Sleep(time.Duration(late))
		}
		if err != nil || !c.deaf.Load() || !c.subscribes.Load() {
			return n, err
		}
	}
}

// cut ends the connections that the process has.
func (k *kit) cut(p *process) {
	k.mu.Lock()
	conns := p.conns
	p.conns = nil
	k.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// seats is how many processes sit in the row.
func (k *kit) seats() int64 {
	k.Helper()
	n, err := k.honest.ZCard(k.ctx, keys.LockRow(name)).Result()
	require.NoError(k, err)
	return n
}

// within tells whether so comes true within d.
func (k *kit) within(d time.Duration, so func() bool) bool {
	k.Helper()
	for end := time.Now().Add(d); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func TestAReleasePassesTheLockToTheProcessThatHasWaitedLongest(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		var waiters []<-chan result
		for range 3 {
			waiters = append(waiters, k.wait(k.another().Base, k.ctx))
			time.Sleep(time.Microsecond)
		}
		require.EqualValues(t, 3, k.seats())
		asked := k.sent("acquire")
		next := first
		for i, w := range waiters {
			require.NoError(t, next.Unlock(k.ctx))
			got := <-w
			require.NoError(t, got.err)
			require.Equal(t, 1, k.count(got.hold.Owner()))
			require.EqualValues(t, 2-i, k.seats())
			next = got.hold
		}
		require.Equal(t, asked, k.sent("acquire"), "nobody asks")
		require.NoError(t, next.Unlock(k.ctx))
		require.False(t, k.locked())
		require.Equal(t, 4, k.sent("release"))
	})
}

// Others of the process that gives sit down behind those who wait elsewhere, in the same script.
func TestAProcessThatPassesTheLockWaitsForItsNextTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		mine, theirs := k.lock(), k.another()
		first := k.take(mine, k.ctx)
		second, third := k.wait(mine, k.ctx), k.wait(theirs.Base, k.ctx)
		asked := k.sent("acquire")
		time.Sleep(10 * time.Millisecond) // the run is over
		require.NoError(t, first.Unlock(k.ctx))
		got := <-third
		require.NoError(t, got.err)
		require.EqualValues(t, 1, k.seats())
		require.NoError(t, got.hold.Unlock(k.ctx))
		got = <-second
		require.NoError(t, got.err)
		require.Equal(t, 10*time.Millisecond, got.at)
		require.Equal(t, []int{asked, 0, 2}, []int{k.sent("acquire"), k.sent("handover"), k.sent("release")})
	})
}

// A look before the question is for a lock that was left to others, and these have it.
func TestWhoSatDownWithAPassAsksForItWithoutALook(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		mine := k.lock()
		first := k.take(mine, k.ctx)
		second := k.wait(mine, k.ctx)
		third := k.wait(k.another().Base, k.ctx)
		asked, looked := k.sent("acquire"), k.sent("query")
		time.Sleep(10 * time.Millisecond) // the run is over
		require.NoError(t, first.Unlock(k.ctx))
		hold := (<-third).hold
		time.Sleep(4 * time.Second) // beyond a poll
		require.Equal(t, []int{asked + 1, looked}, []int{k.sent("acquire"), k.sent("query")})
		require.NoError(t, hold.Unlock(k.ctx))
		require.NoError(t, (<-second).hold.Unlock(k.ctx))
	})
}

func TestWhatWasPassedIsKeptAlive(t *testing.T) {
	for _, timeout := range []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Minute} {
		inBubble(t, func(t *testing.T, k *kit) {
			first := k.take(k.lock(), k.ctx)
			second := k.wait(k.another(redlatch.WithWatchdogTimeout(timeout)).Base, k.ctx)
			require.NoError(t, first.Unlock(k.ctx))
			hold := (<-second).hold
			require.LessOrEqual(t, k.mini.TTL(name), 10*time.Second, "in case that nobody is there")
			trusted := k.trusted(hold)
			require.Greater(t, trusted, 9*time.Second)
			require.Less(t, trusted, 10*time.Second)
			time.Sleep(4 * time.Second) // a third of the lease, and a little
			require.Greater(t, k.mini.TTL(name), timeout-time.Second, "the first renewal")
			time.Sleep(5 * time.Minute)
			require.True(t, hold.Valid())
			require.Equal(t, 1, k.count(hold.Owner()))
		})
	}
}

// From the answer to the last question on both clocks are known to have gone on; how long the message took is not.
func TestTrustBeginsWhenTheServerPassedTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx, redlatch.WithLease(time.Hour))
		k.harm("acquire", 1, fault{}) // its first question
		waiter := k.another()
		second := k.wait(waiter.Base, k.ctx)
		k.faults(func(op string) fault {
			if op == "acquire" {
				return fault{before: 100 * time.Millisecond, after: 400 * time.Millisecond}
			}
			return fault{}
		})
		k.at(20 * time.Second)
		for asked := k.sent("acquire"); k.sent("acquire") == asked; {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(2 * time.Second) // it has its answer, and is not asking: it would not believe the message
		passed := time.Since(k.start)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, passed, got.at)
		trusted := k.trusted(got.hold) - got.at
		require.LessOrEqual(t, trusted, 10*time.Second-200*time.Millisecond)
		require.GreaterOrEqual(t, trusted, 9*time.Second)
	})
}

// The lock is free again when the message comes. Its waiter asks as if there had been none.
func TestAMessageThatComesWhenTheLeaseIsOverIsNotBelieved(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		waiter := k.another(redlatch.WithPoll(time.Hour))
		ctx, cancel := context.WithTimeout(k.ctx, time.Minute)
		defer cancel()
		second := k.wait(waiter.Base, ctx)
		k.slow(waiter, 11*time.Second)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.True(t, got.hold.Valid())
		require.Greater(t, k.trusted(got.hold)-got.at, 29*time.Second)
		require.Equal(t, 11*time.Second, got.at)
	})
}

// It has not asked since: what the server's clock said then is known from the release.
func TestWhoSatDownLongAgoByAReleaseBelievesTheMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		mine := k.lock(redlatch.WithPoll(time.Hour))
		first := k.take(mine, k.ctx)
		second, third := k.wait(mine, k.ctx), k.wait(k.another().Base, k.ctx)
		time.Sleep(10 * time.Millisecond) // the run is over
		require.NoError(t, first.Unlock(k.ctx))
		hold := (<-third).hold
		time.Sleep(200 * time.Millisecond)
		asked, now := k.sent("acquire"), time.Since(k.start)
		require.NoError(t, hold.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, now, got.at)
		require.Equal(t, asked, k.sent("acquire"))
		require.Greater(t, k.trusted(got.hold)-got.at, 10*time.Second-watchdog.Margin(10*time.Second)-10*time.Millisecond)
	})
}

// The server says that the lock is the waiter's, and the message does not arrive.
func TestAPassWithoutItsMessageIsFoundByAsking(t *testing.T) {
	for what, silence := range map[string]func(k *kit, waiter *process){
		"nobody reads the messages": (*kit).deafen,
		"the connections end":       (*kit).cut,
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				first := k.take(k.lock(), k.ctx)
				waiter := k.another()
				second := k.wait(waiter.Base, k.ctx)
				silence(k, waiter)
				require.NoError(t, first.Unlock(k.ctx))
				require.True(t, k.locked() || what != "nobody reads the messages", "the server takes the listener for alive")
				got := <-second
				require.NoError(t, got.err)
				require.Less(t, got.at, 4*time.Second)
				require.Equal(t, 1, k.count(got.hold.Owner()))
				time.Sleep(2 * time.Minute)
				require.True(t, got.hold.Valid())
			})
		})
	}
}

// The release names the next waiter of the process, which is promised the lock meanwhile.
func TestAHookThatPanicsDuringTheReleaseThatEndsARunLeavesTheLockToNobody(t *testing.T) {
	for name, harm := range map[string]fault{"before it": {panics: true}, "after it": {dies: true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lock()
				first := k.take(b, k.ctx)
				second := k.wait(b, k.ctx)
				time.Sleep(10 * time.Millisecond) // the run is over
				k.harm("release", 1, harm)
				require.Panics(t, func() { _ = first.Unlock(context.Background()) })
				got := <-second
				require.NoError(t, got.err)
				require.Less(t, got.at, 5*time.Second)
				require.NoError(t, got.hold.Unlock(k.ctx))
				require.False(t, k.locked())
			})
		})
	}
}

// The waiter for which the process stands in the queue has left, and the next one acquires by itself.
func TestWhatIsPassedToAProcessWhoseFirstWaiterCannotHaveItGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		b := k.another(redlatch.WithPoll(time.Hour)).Base
		leaves, cancel := context.WithCancel(k.ctx)
		gone := k.wait(b, leaves)
		ctx, end := context.WithCancel(k.ctx)
		next := k.wait(b, ctx, redlatch.WithReplicas(1, time.Second))
		cancel()
		require.Error(t, (<-gone).err)
		k.faults(func(op string) fault { return fault{refused: op == "acquire"} })
		require.NoError(t, first.Unlock(k.ctx))
		require.True(t, k.within(time.Second, func() bool { return !k.locked() }), "given back")
		end()
		<-next
	})
}
