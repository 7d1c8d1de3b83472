package interop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// javaActor is a thread of the Java side.
type javaActor struct {
	jvm    *jvm
	client string
	others []string // the clients of a Redlock, each for a server
	thread string
	last   int64 // token
}

func (a *javaActor) side() string { return "Java" }

func (a *javaActor) call(op string, o object, more fields, result any) error {
	command := fields{"op": op, "client": a.client, "thread": a.thread, "kind": o.kind, "name": o.name, "names": o.members(), "clients": a.others}
	for name, value := range more {
		command[name] = value
	}
	return a.jvm.call(command, result)
}

// owner is that of a writer for the write side, for that is what Redis has.
func (a *javaActor) owner(o object) string {
	var owner string
	if err := a.call("owner", o, nil, &owner); err != nil {
		return err.Error()
	}
	if o.kind == "write" {
		owner += ":write"
	}
	return owner
}

func (h how) fields() fields {
	more := fields{}
	if h.wait > 0 {
		more["wait"] = h.wait.Milliseconds()
	}
	if h.lease > 0 {
		more["lease"] = h.lease.Milliseconds()
	}
	return more
}

func (a *javaActor) lock(o object, h how) error {
	switch {
	case o.kind == "fenced":
		more := h.fields()
		if h.wait == 0 {
			more["wait"] = -1 // without bound; the form without a wait ignores the lease
		}
		return a.fenced(o, more)
	case h.wait == 0:
		return a.call("lock", o, h.fields(), nil)
	}
	return a.granted("tryLock", o, h.fields())
}

func (a *javaActor) tryLock(o object, lease time.Duration) error {
	if o.kind == "fenced" {
		return a.fenced(o, how{lease: lease}.fields())
	}
	return a.granted("tryLock", o, how{lease: lease}.fields())
}

func (a *javaActor) granted(op string, o object, more fields) error {
	var got bool
	if err := a.call(op, o, more, &got); err != nil {
		return unsubscribed(err)
	}
	if !got {
		return errBusy
	}
	return nil
}

// unsubscribed is the error of a wait, which is that somebody else has it where the wait ended before the waiter had
// subscribed. Redisson up to 4.3.1 can say so; Redisson 3.17.7 may say instead that its subscription was cancelled.
func unsubscribed(err error) error {
	for _, text := range []string{"Unable to acquire subscription lock after", "java.util.concurrent.CancellationException"} {
		if strings.Contains(err.Error(), text) {
			return errBusy
		}
	}
	return err
}

func (a *javaActor) fenced(o object, more fields) error {
	var token *int64
	if err := a.call("tryLockAndGetToken", o, more, &token); err != nil {
		return unsubscribed(err)
	}
	if token == nil {
		return errBusy
	}
	a.last = *token
	return nil
}

func (a *javaActor) unlock(o object) error { return a.call("unlock", o, nil, nil) }

func (a *javaActor) held(o object) bool {
	var held bool
	return a.call("isHeld", o, nil, &held) == nil && held
}

func (a *javaActor) holds(o object) (n int64, err error) {
	err = a.call("holdCount", o, nil, &n)
	return n, err
}

func (a *javaActor) token(object) int64 { return a.last }

func (a *javaActor) lastToken(o object) (n int64, err error) {
	err = a.call("token", o, nil, &n)
	return n, err
}

func (a *javaActor) forceUnlock(o object) (was bool, err error) {
	err = a.call("forceUnlock", o, nil, &was)
	return was, err
}

func (a *javaActor) isLocked(o object) (is bool, err error) {
	err = a.call("isLocked", o, nil, &is)
	return is, err
}

func (a *javaActor) ttl(o object) (time.Duration, error) {
	var ms int64
	if err := a.call("remainTimeToLive", o, nil, &ms); err != nil || ms == -2 {
		return 0, err
	}
	return time.Duration(ms) * time.Millisecond, nil
}

func (a *javaActor) setUp(o object, n int64) (done bool, err error) {
	op := "trySetPermits"
	if o.kind == "latch" {
		op = "trySetCount"
	}
	err = a.call(op, o, fields{"n": n}, &done)
	return done, err
}

func (a *javaActor) acquire(o object, n int64, h how) ([]string, error) {
	more := h.fields()
	more["n"] = n
	if h.wait > 0 {
		return a.permits("tryAcquire", o, more)
	}
	return a.permits("acquire", o, more)
}

func (a *javaActor) tryAcquire(o object, n int64, lease time.Duration) ([]string, error) {
	more := how{lease: lease}.fields()
	more["n"] = n
	return a.permits("tryAcquire", o, more)
}

func (a *javaActor) permits(op string, o object, more fields) ([]string, error) {
	if o.kind == "permits" {
		var ids []string
		if err := a.call(op, o, more, &ids); err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			return nil, errBusy
		}
		return ids, nil
	}
	if op == "acquire" {
		return nil, a.call(op, o, more, nil)
	}
	return nil, a.granted(op, o, more)
}

func (a *javaActor) release(o object, n int64, ids []string) error {
	err := a.call("release", o, fields{"n": n, "ids": ids}, nil)
	if err != nil && o.kind == "permits" && strings.Contains(err.Error(), "IllegalArgumentException: Permit") {
		return fmt.Errorf("%w: %w", errNotOwner, err)
	}
	return err
}

func (a *javaActor) tryRelease(o object, n int64, ids []string) (done bool, err error) {
	if o.kind == "permits" {
		err = a.call("tryRelease", o, fields{"ids": ids}, &done)
	} else {
		err = a.call("releaseIfExists", o, fields{"n": n}, &done)
	}
	return done, err
}

func (a *javaActor) available(o object) (n int64, err error) {
	op := "availablePermits"
	if o.kind == "latch" {
		op = "getCount"
	}
	err = a.call(op, o, nil, &n)
	return n, err
}

func (a *javaActor) acquired(o object) (n int64, err error) {
	err = a.call("acquiredPermits", o, nil, &n)
	return n, err
}

func (a *javaActor) total(o object) (n int64, err error) {
	err = a.call("getPermits", o, nil, &n)
	return n, err
}

func (a *javaActor) setTotal(o object, n int64) error {
	return a.call("setPermits", o, fields{"n": n}, nil)
}

func (a *javaActor) add(o object, d int64) error { return a.call("addPermits", o, fields{"n": d}, nil) }

func (a *javaActor) drain(o object) (n int64, err error) {
	err = a.call("drainPermits", o, nil, &n)
	return n, err
}

func (a *javaActor) updateLease(o object, id string, lease time.Duration) error {
	var done bool
	more := how{lease: lease}.fields()
	more["ids"] = []string{id}
	if err := a.call("updateLeaseTime", o, more, &done); err != nil {
		return err
	}
	if !done {
		return errNotOwner
	}
	return nil
}

func (a *javaActor) leaseTime(o object, id string) (time.Duration, error) {
	var ms int64
	err := a.call("getLeaseTime", o, fields{"ids": []string{id}}, &ms)
	return time.Duration(ms) * time.Millisecond, err
}

func (a *javaActor) countDown(o object) error { return a.call("countDown", o, nil, nil) }

func (a *javaActor) await(o object, wait time.Duration) error {
	return a.granted("await", o, how{wait: wait}.fields())
}

func (a *javaActor) remove(o object) (was bool, err error) {
	err = a.call("delete", o, nil, &was)
	return was, err
}

func (a *javaActor) expire(o object, ttl time.Duration) (was bool, err error) {
	err = a.call("expire", o, how{lease: ttl}.fields(), &was)
	return was, err
}

func (a *javaActor) persist(o object) (was bool, err error) {
	err = a.call("clearExpire", o, nil, &was)
	return was, err
}

// java makes a Java actor with the client that has the usual watchdog timeout.
func (w *world) java(t *testing.T) actor {
	t.Helper()
	return &javaActor{jvm: w.jvm, client: w.long, others: w.longs, thread: fmt.Sprintf("%s-%d", w.long, actors.Add(1))}
}

// quickJava makes one whose client has a short watchdog timeout.
func (w *world) quickJava(t *testing.T) actor {
	t.Helper()
	return &javaActor{jvm: w.jvm, client: w.short, others: w.shorts, thread: fmt.Sprintf("%s-%d", w.short, actors.Add(1))}
}
