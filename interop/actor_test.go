package interop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// An object is something that both sides share by name. names are the members of a multi-lock or Redlock, and the
// values of a group multi-lock; they are joined, so that an object can be compared.
type object struct{ kind, name, names string }

func (o object) members() []string {
	if o.names == "" {
		return nil
	}
	return strings.Split(o.names, " ")
}

// How a lock is asked for: for how long, and with which lease. Zero is without bound and with the watchdog.
type how struct{ wait, lease time.Duration }

// An actor is one holder on one side: a thread in Java, the owner of some Holds in Go. Its methods are for one
// goroutine at a time, and take as long as what they do.
type actor interface {
	side() string
	owner(object) string // its identity in Redis; "" when a Go actor holds nothing

	lock(object, how) error              // errBusy when the wait is over
	tryLock(object, time.Duration) error // errBusy; with this lease, or the watchdog for 0
	unlock(object) error                 // errNotOwner
	held(object) bool                    // whether this actor holds it, as far as its side knows or asks
	holds(object) (int64, error)         // how often this actor holds it
	token(object) int64                  // of the last acquisition of a fenced lock
	lastToken(object) (int64, error)     // issued to anybody
	forceUnlock(object) (bool, error)    // whoever holds it
	isLocked(object) (bool, error)       // by anybody
	ttl(object) (time.Duration, error)   // 0 when free
	counts                               // semaphores, permits and latches
}

// counts is what an actor can do with semaphores, expirable permits and latches.
type counts interface {
	setUp(o object, n int64) (bool, error)              // trySetPermits, trySetCount
	acquire(o object, n int64, h how) ([]string, error) // ids for permits; errBusy
	tryAcquire(o object, n int64, lease time.Duration) ([]string, error)
	release(o object, n int64, ids []string) error            // errNotOwner for unknown ids
	tryRelease(o object, n int64, ids []string) (bool, error) // releaseIfExists for plain ones
	available(o object) (int64, error)                        // permits, or the count of a latch
	acquired(o object) (int64, error)                         // expirable permits
	total(o object) (int64, error)                            // expirable permits, available and taken
	setTotal(o object, n int64) error                         // the same
	add(o object, d int64) error
	drain(o object) (int64, error)
	updateLease(o object, id string, lease time.Duration) error // 0 is for ever
	leaseTime(o object, id string) (time.Duration, error)
	countDown(object) error
	await(object, time.Duration) error // errBusy when the time is over; 0 is without bound
	remove(object) (bool, error)
	expire(object, time.Duration) (bool, error) // of semaphores
	persist(object) (bool, error)
}

var (
	errBusy     = errors.New("somebody else has it")
	errNotOwner = errors.New("not the owner")
)

// bothWays runs a case twice: once with a Java actor first and a Go actor second, once the other way about.
func bothWays(t *testing.T, w *world, fn func(t *testing.T, first, second actor)) {
	t.Helper()
	for _, makers := range [][2]func(*testing.T) actor{{w.java, w.golang}, {w.golang, w.java}} {
		first, second := makers[0](t), makers[1](t)
		t.Run(fmt.Sprintf("%s first and then %s", first.side(), second.side()), func(t *testing.T) {
			t.Parallel()
			cases.Add(1)
			fn(t, first, second)
		})
	}
}

// refusedWithin has ask wait and be refused. On a busy machine a short wait can be over before the server has answered anything, and the
// actor says so then; ask waits for longer in that case.
func refusedWithin(t *testing.T, wait time.Duration, ask func(how) error) {
	t.Helper()
	for {
		err := ask(how{wait: wait})
		unanswered := errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errBusy) && !errors.Is(err, redlatch.ErrUnavailable)
		if unanswered && wait < patience {
			wait *= 2
			continue
		}
		require.ErrorIs(t, err, errBusy)
		return
	}
}
