package scripts

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

const (
	fixed = 3          // arguments before the keys
	few   = fixed + 12 // as many as the commands of a lock or permit have

	remembered = 3 * few // as many as those of three locks together have
)

// A call is the memory of one execution, in one piece where the arguments are few: a caller that is alone spends much
// of what is not the network on allocating.
type call struct {
	args  []any
	room  [few]any     // for args
	sent  atomic.Bool  // reply is in use
	reply redis.IntCmd // of the first send. A second send has its own: the client may still know the first
}

// A Layout is a command while it is put together, its keys first. Keys and arguments are not kept as they come but as what they
// contain, so that the caller's can stay on its stack; what is as it was in the script's last command, is taken from there. A lock
// that is taken again and again has everything but its owner in common with the time before.
type Layout struct {
	script     *Script
	call, last *call
}

// Layout begins a command of so many keys and arguments.
func (s *Script) Layout(n int) Layout {
	c := &call{}
	c.args = c.room[:0]
	if n += fixed; n > few {
		c.args = make([]any, 0, n)
	}
	c.args = append(c.args, "evalsha", s.sha, 0)
	return Layout{s, c, s.last.Load()}
}

// Key adds a key.
func (l Layout) Key(key string) {
	l.Text(key)
	l.call.args[fixed-1] = len(l.call.args) - fixed
}

// Text adds an argument.
func (l Layout) Text(text string) {
	l.call.args = append(l.call.args, same(l.last, len(l.call.args), text))
}

// Number adds an argument.
func (l Layout) Number(n int64) { l.call.args = append(l.call.args, same(l.last, len(l.call.args), n)) }

// done is the command, which the script remembers. A big one is not worth its memory.
func (l Layout) done() *call {
	if len(l.call.args) <= remembered {
		l.script.last.Store(l.call)
	}
	return l.call
}

// layout puts a command together.
func (s *Script) layout(keys []string, args []any) *call {
	l := s.Layout(len(keys) + len(args))
	for _, key := range keys {
		l.Text(key)
	}
	l.call.args[fixed-1] = len(keys)
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			l.Text(arg)
		case int64:
			l.Number(arg)
		case int:
			l.call.args = append(l.call.args, arg)
		default: // kept as it is, it would have everybody's arguments allocated
			panic("redlatch: an argument of a script is neither a string nor an int or int64")
		}
	}
	return l.done()
}

// same is value as an interface, the last command's if that had it in the same place.
func same[V comparable](last *call, at int, value V) any {
	if last != nil && at < len(last.args) {
		if before, ok := last.args[at].(V); ok && before == value {
			return last.args[at]
		}
	}
	return value
}

// first is the client's command for the first send, nil for every other one.
func (c *call) first(ctx context.Context, args []any) *redis.IntCmd {
	if !c.sent.CompareAndSwap(false, true) {
		return nil
	}
	c.reply = *redis.NewIntCmd(ctx, args...)
	return &c.reply
}
