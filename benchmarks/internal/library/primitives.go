package library

import (
	"context"
	"math/rand/v2"

	front "github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// A Primitive is a primitive of redlatch. It is measured as if it were a library, beside the floor.
type Primitive struct {
	Library
	Own, Hot, Wakes bool   // it can be measured with a key for each caller, with one key for all, with the wake-up of a waiter
	Servers         int    // the number of servers that it uses; 0 is one
	Redisson        string // the name of its counterpart in the Java program; empty: there is none, or it cannot be measured
}

// Permits is the number of permits of a semaphore, except in the measurement of a wake-up.
const Permits = 4

// Primitives are the primitives of redlatch, in the order in which they are shown.
var Primitives = []Primitive{
	lock("rlock", "lock", "reentrant lock", func(p *place, key string) front.Locker { return rlock.New(p.clients[0], key, p.lease) }),
	lock("fencedlock", "fenced", "reentrant lock with a token for each hold",
		func(p *place, key string) front.Locker { return fencedlock.New(p.clients[0], key, p.lease) }),
	lock("fairlock", "fair", "reentrant lock, served in the order of arrival in Redis",
		func(p *place, key string) front.Locker { return fairlock.New(p.clients[0], key, p.lease) }),
	lock("rwlock, all write", "write", "the writing side of a read-write lock",
		func(p *place, key string) front.Locker { return rwlock.New(p.clients[0], key, p.lease).Writer() }),
	neverBusy(lock("rwlock, all read", "read", "the reading side of a read-write lock; all callers can be in at once",
		func(p *place, key string) front.Locker { return rwlock.New(p.clients[0], key, p.lease).Reader() })),
	mixed(),
	lock("spinlock", "spin", "reentrant lock whose waiters poll",
		func(p *place, key string) front.Locker { return spinlock.New(p.clients[0], key, p.lease) }),
	lock("multilock of 3", "multi", "three reentrant locks on one server, as one",
		func(p *place, key string) front.Locker {
			var members []front.Locker
			for _, name := range Members(key) {
				members = append(members, rlock.New(p.clients[0], name, p.lease))
			}
			return multilock.New(members)
		}),
	onServers(3, lock("redlock of 3", "", "lock on a majority of three servers", func(p *place, key string) front.Locker {
		var clients []front.Client
		for _, client := range p.clients {
			clients = append(clients, client)
		}
		return redlock.New(clients, key, p.lease)
	})),
	{
		Own: true, Hot: true, Wakes: true, Redisson: "semaphore",
		Library: primitive("semaphore of 4", "semaphore of 4 permits; every caller takes one (to wake up: of 1 permit)",
			func(p *place, key string) (*semaphore.Semaphore, error) {
				s := semaphore.New(p.clients[0], key)
				_, err := s.TrySetPermits(context.Background(), p.permits)
				return s, err
			},
			func(s *semaphore.Semaphore) Handle { return semaphoreHandle{s} }),
	},
	{
		Own: true, Hot: true, Wakes: true, Redisson: "permits",
		Library: primitive("permitsemaphore of 4", "semaphore of 4 permits with ids, which are renewed; every caller takes one "+
			"(to wake up: of 1 permit)",
			func(p *place, key string) (*permitsemaphore.Semaphore, error) {
				s := permitsemaphore.New(p.clients[0], key, p.lease)
				_, err := s.TrySetPermits(context.Background(), p.permits)
				return s, err
			},
			func(s *permitsemaphore.Semaphore) Handle { return &permitHandle{semaphore: s} }),
	},
	latch(),
}

// Members are the keys of the locks that a multilock is made of.
func Members(key string) []string { return []string{key + ":a", key + ":b", key + ":c"} }

func lock(name, redisson, note string, value func(p *place, key string) front.Locker) Primitive {
	return Primitive{
		Own: true, Hot: true, Wakes: true, Redisson: redisson,
		Library: primitive(name, note,
			func(p *place, key string) (front.Locker, error) { return value(p, key), nil },
			func(l front.Locker) Handle { return &lockHandle{lock: l} }),
	}
}

// neverBusy returns p without the wake-up of a waiter: its callers do not wait for each other.
func neverBusy(p Primitive) Primitive {
	p.Wakes = false
	return p
}

func onServers(n int, p Primitive) Primitive {
	p.Servers = n
	return p
}

// mixed is a read-write lock with nine readers for each writer. A caller draws anew each time which of the two it is.
func mixed() Primitive {
	return Primitive{
		Hot: true,
		Library: primitive("rwlock, 90 % read", "a read-write lock; each time a caller reads with a probability of 0.9 and writes otherwise",
			func(p *place, key string) (*rwlock.Lock, error) { return rwlock.New(p.clients[0], key, p.lease), nil },
			func(l *rwlock.Lock) Handle { return &mixedHandle{read: l.Reader(), write: l.Writer()} }),
	}
}

// latch is a latch that a caller sets to one and counts down. The waiter of a wake-up only waits.
func latch() Primitive {
	found := func(p *place, key string) (*countdownlatch.Latch, error) {
		return countdownlatch.New(p.clients[0], key), nil
	}
	l := primitive("countdownlatch", "latch that is set to one and counted down; to wake up: from the count-down to the end of a wait",
		found, func(l *countdownlatch.Latch) Handle { return latchHandle{l} })
	l.Waiter = primitive("", "", found, func(l *countdownlatch.Latch) Handle { return gateHandle{l} }).Open
	return Primitive{Own: true, Wakes: true, Redisson: "latch", Library: l}
}

type lockHandle struct {
	lock front.Locker
	hold *front.Hold
}

func (h *lockHandle) Lock(ctx context.Context) (err error) {
	h.hold, err = h.lock.Lock(ctx)
	return err
}

func (h *lockHandle) Unlock(ctx context.Context) error { return h.hold.Unlock(ctx) }

type mixedHandle struct {
	read, write front.Locker
	hold        *front.Hold
}

func (h *mixedHandle) Lock(ctx context.Context) (err error) {
	side := h.read
	if rand.N(10) == 0 {
		side = h.write
	}
	h.hold, err = side.Lock(ctx)
	return err
}

func (h *mixedHandle) Unlock(ctx context.Context) error { return h.hold.Unlock(ctx) }

type semaphoreHandle struct{ semaphore *semaphore.Semaphore }

func (h semaphoreHandle) Lock(ctx context.Context) error   { return h.semaphore.Acquire(ctx, 1) }
func (h semaphoreHandle) Unlock(ctx context.Context) error { return h.semaphore.Release(ctx, 1) }

type permitHandle struct {
	semaphore *permitsemaphore.Semaphore
	permit    *permitsemaphore.Permit
}

func (h *permitHandle) Lock(ctx context.Context) (err error) {
	h.permit, err = h.semaphore.Acquire(ctx, 1)
	return err
}

func (h *permitHandle) Unlock(ctx context.Context) error { return h.permit.Release(ctx) }

// A latchHandle closes a gate and opens it again.
type latchHandle struct{ latch *countdownlatch.Latch }

func (h latchHandle) Lock(ctx context.Context) error {
	set, err := h.latch.TrySetCount(ctx, 1)
	if err == nil && !set {
		err = errTaken
	}
	return err
}

func (h latchHandle) Unlock(ctx context.Context) error { return h.latch.CountDown(ctx) }

// A gateHandle waits until the gate is open, and has nothing to give back.
type gateHandle struct{ latch *countdownlatch.Latch }

func (h gateHandle) Lock(ctx context.Context) error { return h.latch.Await(ctx) }
func (gateHandle) Unlock(context.Context) error     { return nil }
