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

// layout puts a command together. Keys and arguments are not kept as they come but as what they contain, so that the
// caller's can stay on its stack; what is as it was in the script's last command, is taken from there. A lock that is
// taken again and again has everything but its owner in common with the time before.
func (s *Script) layout(keys []string, args []any) *call {
	c, last := &call{}, s.last.Load()
	c.args = c.room[:0]
	if n := fixed + len(keys) + len(args); n > few {
		c.args = make([]any, 0, n)
	}
	c.args = append(c.args, "evalsha", s.sha, len(keys))
	for _, key := range keys {
		c.args = append(c.args, same(last, len(c.args), key))
	}
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			c.args = append(c.args, same(last, len(c.args), arg))
		case int64:
			c.args = append(c.args, same(last, len(c.args), arg))
		case int:
			c.args = append(c.args, arg)
		default: // kept as it is, it would have everybody's arguments allocated
			panic("redlatch: an argument of a script is neither a string nor an int or int64")
		}
	}
	if len(c.args) <= remembered { // a big one is not worth its memory
		s.last.Store(c)
	}
	return c
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
