package redlatchtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/rootapi"
)

// Steal takes the lock of this name from its holders and gives it to another owner, whose hold it returns, as
// when a process has forced the lock and taken it. No process is told: the former holder finds out by its
// next renewal, within a third of its watchdog timeout and a second. The thief has the lock until its hold is
// unlocked, at the latest when the test ends; then waiters are told. Of a read-write lock it has the write
// side, of a fenced lock a new token.
//
// The name is what Redis has the lock by. The test fails if the lock is free: take such a one with a lock of
// another [Server.Client].
func (s *Server) Steal(name string) *redlatch.Hold {
	s.tb.Helper()
	s.held("Steal", name)
	owner := stranger()
	taken, err := s.admin.Eval(context.Background(), steal, []string{name, keys.FencingToken(name)}, owner).Slice()
	if err != nil {
		s.tb.Fatalf("redlatchtest: Steal(%q): %v", name, err)
	}
	field, token := taken[0].(string), taken[1].(int64)
	hold, _ := NewHold(Terms{Name: name, Owner: owner, Token: token, Unlock: func(ctx context.Context) error {
		return s.giveBack(ctx, name, field)
	}})
	rootapi.Adopt(hold) // the server answers for it
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thieves = append(s.thieves, hold)
	return hold
}

// stranger is an owner as those of Redisson are called: the UUID of a process, of version 4, and a number.
func stranger() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x:1", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// steal makes ARGV[1] the one holder of the lock KEYS[1], with the next token of KEYS[2] if that issues any.
const steal = `
local field, mode = ARGV[1], redis.call('hget', KEYS[1], 'mode')
redis.call('del', KEYS[1])
if mode then
	field = field .. ':write'
	redis.call('hset', KEYS[1], 'mode', 'write')
end
redis.call('hset', KEYS[1], field, 1)
local token = 0
if redis.call('exists', KEYS[2]) == 1 then
	token = redis.call('incr', KEYS[2])
end
return {field, token}`

// giveBack frees a stolen lock and wakes those who wait for it.
func (s *Server) giveBack(ctx context.Context, name, field string) error {
	freed, err := s.admin.Eval(ctx, giveBack, []string{name, keys.FairQueue(name)}, field, keys.LockChannel(name), keys.ReadWriteChannel(name)).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if freed == 0 {
		return fmt.Errorf("%w: lock %q was taken from the one who had stolen it", redlatch.ErrLost, name)
	}
	return nil
}

// giveBack deletes the lock KEYS[1] if ARGV[1] holds it, and tells the waiters of each kind: of a plain lock on ARGV[2], the
// first in the queue KEYS[2] of a fair one, and those of a read-write lock on ARGV[3].
const giveBack = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return 0
end
if redis.call('hexists', KEYS[1], 'mode') == 1 then
	redis.call('publish', ARGV[3], '1')
end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[2], '0')
local first = redis.call('lindex', KEYS[2], 0)
if first then
	redis.call('publish', ARGV[2] .. ':' .. first, '0')
end
return 1`
