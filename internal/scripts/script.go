// Package scripts is the border to Redis: one Lua file per operation, and beside it one typed Go function
// that turns Go values into KEYS and ARGV and the reply back into Go values. Nobody else sees a reply.
//
// Every script is idempotent: executed a second time with the same arguments it leaves the state alone and
// answers as the first time did. That is what allows a command of unknown outcome to be sent again.
//
// A server that is out of memory refuses what may take some, as HSET, ZADD, INCRBY and SET, as the first write
// of a script, and lets it pass behind another one. HDEL, ZREM, DEL and PEXPIRE it never refuses. So a script
// that gives something back, or renews it, begins with one of these; where it has none to make, with the
// removal of a field, or a member, that is called "" and is never there.
//
// The header of a file names each key and argument, those that follow one another in one line: KEYS[1-3]. What a
// key holds is said by the prelude that all scripts of the folder begin with, and which preludes are in front of
// a script by the call of [Load]. A prelude of functions says at each what it answers.
package scripts

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed clock.lua
var folder embed.FS

// Clock is the prelude of scripts that reckon with moments.
var Clock = Prelude(folder, "clock.lua")

// A Script is one Lua file as the server knows it.
type Script struct {
	name   string // "rlock/acquire", for error texts
	source string
	sha    any // a string, boxed once instead of at each use
	last   atomic.Pointer[call]
}

// Load reads the named Lua files of an embedded folder and joins them in order, so that a script can begin
// with a prelude that it shares with others. It panics when a file is missing: that is a mistake of the
// build.
func Load(folder embed.FS, name string, preludes ...string) *Script {
	_, operation, _ := strings.Cut(name, "/")
	body, err := folder.ReadFile(operation + ".lua")
	if err != nil {
		panic(fmt.Sprintf("redlatch: script %s is not embedded: %v", name, err))
	}
	source := strings.Join(append(preludes, string(body)), "\n")
	sum := sha1.Sum([]byte(source))
	return &Script{name: name, source: source, sha: hex.EncodeToString(sum[:])}
}

// Prelude reads a Lua file that scripts begin with. It panics when the file is missing: that is a mistake of
// the build.
func Prelude(folder embed.FS, file string) string {
	source, err := folder.ReadFile(file)
	if err != nil {
		panic("redlatch: a prelude is not embedded: " + err.Error())
	}
	return string(source)
}

// Milliseconds is d as the wire has it: whole milliseconds, rounded up, so that no positive duration becomes
// 0, which PEXPIRE would take for "delete".
func Milliseconds(d time.Duration) int64 {
	whole := d / time.Millisecond
	if d%time.Millisecond > 0 { // rather than adding first, which overflows for "for ever"
		whole++
	}
	return int64(whole)
}

// A Wake names the message that a script sends to the waiters.
type Wake struct {
	Publish string // PUBLISH, or SPUBLISH on a cluster with sharded channels
	Channel string
	Row     string // of the processes that wait for a semaphore; empty: everybody is told
}

// A Command is one execution of a script: what is sent, and how its reply is read.
type Command[R any] struct {
	script *Script
	args   []any // EVALSHA, sha, number of keys, keys, arguments
	call   *call
	list   bool // the reply is an array
	needs  int  // how many of the keys the script cannot do without; 0: all of them
	whole  bool // without the others it is sent only to a server that does not let the user have them
	finds  func(key string, asked []string, nth int) ([]string, error)
	asked  int // how often its script has asked for keys
	decode func(Reply) (R, error)
}

// Needs is the command of a script that can do without the keys behind the first n. These are extras of ours,
// by which others are served faster; what the program asked for is done without them too, and answered in the
// same way.
func (c Command[R]) Needs(n int) Command[R] {
	c.needs = n
	return c
}

// Whole is the command of a script whose last key is [keys.Moving]. It has that key for the sake of a slot
// that moves, and does without it for a user who has no right to it.
func (c Command[R]) Whole() Command[R] {
	c.needs, c.whole = c.args[fixed-1].(int)-1, true
	return c
}

// Finds is the command of a script that learns from the data which further keys it has to touch. As long as
// one of these is not declared the script changes nothing, and answers an error that begins with asking.
// names turns the words behind that into keys of the object at key, and is told that it is the nth time, from
// 1.
func (c Command[R]) Finds(names func(key string, asked []string, nth int) ([]string, error)) Command[R] {
	c.finds = names
	return c
}

// asking is how the error of a script begins that asks for keys.
const asking = "REDLATCH-KEYS "

// Widen is the command with the keys for which its script has asked by err, behind all others. ok is false if
// it has not.
func (c Command[R]) Widen(err error) (wide Command[R], ok bool) {
	if err == nil || c.finds == nil {
		return c, false
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return c, false
	}
	text, ok := strings.CutPrefix(reply.Error(), asking)
	if !ok {
		return c, false
	}
	keys := c.args[fixed-1].(int)
	c.asked++
	names, err := c.finds(c.Key(), strings.Fields(text), c.asked)
	if err != nil || len(names) == 0 || keys+len(names) > mostKeys {
		return c, false
	}
	args := slices.Grow(slices.Clone(c.args[:fixed+keys]), len(names)+len(c.args)-fixed-keys)
	for _, name := range names {
		args = append(args, name)
	}
	c.args = append(args, c.args[fixed+keys:]...)
	c.args[fixed-1] = keys + len(names)
	if c.needs == keys {
		c.needs = 0 // what it asks for it needs
	}
	c.call = &call{}
	return c, true
}

// mostKeys is how many keys a command has at most that its script has asked for. More are no sensible data.
const mostKeys = 100_000

// Narrow is the command without the keys that its script can do without. ok is false if it has none of these.
// While a slot moves, a command that is to be Whole has none either.
func (c Command[R]) Narrow(moving bool) (narrow Command[R], ok bool) {
	keys := c.args[fixed-1].(int)
	if c.needs == 0 || c.needs >= keys || moving && c.whole {
		return c, false
	}
	c.args = slices.Concat(c.args[:fixed+c.needs], c.args[fixed+keys:])
	c.args[fixed-1] = c.needs
	c.call = &call{}
	return c, true
}

// A Reply is what a script answered: an integer, or an array for those that have more to say. Scripts never
// answer nil, which the client library reports as an error at five times the cost.
type Reply struct {
	Int  int64
	List []any
}

// Integer makes a command whose script answers one integer. Arguments are strings and integers.
func Integer[R any](s *Script, keys []string, args []any, decode func(Reply) (R, error)) Command[R] {
	c, all := s.layout(keys, args, nil)
	return Command[R]{script: s, args: all, call: c, decode: decode}
}

// IntegerOf is Integer for a lock of which so much is known.
func IntegerOf[R any](known Known, s *Script, keys []string, args []any, decode func(Reply) (R, error)) Command[R] {
	c, all := s.layout(keys, args, known)
	return Command[R]{script: s, args: all, call: c, decode: decode}
}

// Array makes a command whose script answers an array. Arguments are strings and integers.
func Array[R any](s *Script, keys []string, args []any, decode func(Reply) (R, error)) Command[R] {
	c, all := s.layout(keys, args, nil)
	return Command[R]{script: s, args: all, call: c, list: true, decode: decode}
}

// Laid is Array for what was put together piece by piece.
func Laid[R any](l Layout, decode func(Reply) (R, error)) Command[R] {
	c, all := l.done()
	return Command[R]{script: l.script, args: all, call: c, list: true, decode: decode}
}

// Foreign is Integer with arguments, after those of the script, that are the program's: of any type that the
// client library knows.
func Foreign[R any](s *Script, keys []string, args, foreign []any, decode func(Reply) (R, error)) Command[R] {
	_, own := s.layout(keys, args, nil)
	// apart from what the script remembers
	return Command[R]{script: s, args: slices.Concat(own, foreign), call: &call{}, decode: decode}
}

// Script is the script that the command runs.
func (c Command[R]) Script() *Script { return c.script }

// Key is the first key, which decides the slot.
func (c Command[R]) Key() string { return c.args[fixed].(string) }

// Cmder makes the client's form of the command for one send: by hash, or with the source where the server has
// said that it does not know the hash. It is marked as not to be resent by the client library; whether to
// send again is decided by those who know what a second execution would do.
func (c Command[R]) Cmder(ctx context.Context, withSource bool) redis.Cmder {
	args := c.args
	if withSource {
		args = append([]any{"eval", c.script.source}, c.args[2:]...)
	}
	if c.list {
		cmd := redis.NewSliceCmd(ctx, args...)
		cmd.SetFirstKeyPos(fixed)
		return onceSlice{cmd}
	}
	cmd := c.call.first(args)
	if cmd == nil {
		cmd = redis.NewIntCmd(ctx, args...)
	}
	cmd.SetFirstKeyPos(fixed)
	return onceInt{cmd}
}

// Read decodes the reply of a Cmder that was executed without an error.
func (c Command[R]) Read(cmd redis.Cmder) (R, error) {
	var reply Reply
	switch cmd := cmd.(type) {
	case onceInt:
		reply.Int = cmd.Val()
	case onceSlice:
		reply.List = cmd.Val()
	}
	value, err := c.decode(reply)
	if err != nil {
		return value, fmt.Errorf("redlatch: script %s: %w", c.script.name, err)
	}
	return value, nil
}

// The wrappers below satisfy redis.Cmder through the command that they embed; NoRetry is what the client
// library asks before it sends a command again.

type onceInt struct{ *redis.IntCmd }

func (onceInt) NoRetry() bool { return true }

type onceSlice struct{ *redis.SliceCmd }

func (onceSlice) NoRetry() bool { return true }

// Map is the command c with its reply turned into something else.
func Map[R, S any](c Command[R], turn func(R) S) Command[S] {
	return Command[S]{script: c.script, args: c.args, call: c.call, list: c.list, needs: c.needs, whole: c.whole,
		finds: c.finds, decode: func(reply Reply) (s S, err error) {
			r, err := c.decode(reply)
			if err != nil {
				return s, err
			}
			return turn(r), nil
		}}
}
