package scripts

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

const (
	fixed = 3          // arguments before the keys
	most  = fixed + 12 // as many as the commands of a lock or permit have

	remembered = 3 * most // as many as those of three locks together have
)

// A call is the memory of one execution.
type call struct {
	sent atomic.Bool // reply is in use
	// of the first send, with the arguments. A second send has its own: the client may still know the first
	reply redis.IntCmd
}

// newCall has room for n arguments, in one piece with the rest where they are few: a caller that is alone
// spends much of what is not the network on allocating. There are three sizes: for the acquisition of a plain
// lock, for its release, and for most others.
func newCall(n int) (*call, []any) {
	switch {
	case n <= fixed+3:
		b := &struct {
			call
			room [fixed + 3]any
		}{}
		return &b.call, b.room[:0]
	case n <= fixed+9:
		b := &struct {
			call
			room [fixed + 9]any
		}{}
		return &b.call, b.room[:0]
	case n <= most:
		b := &struct {
			call
			room [most]any
		}{}
		return &b.call, b.room[:0]
	}
	return &call{}, make([]any, 0, n)
}

// Known are texts that the commands of one lock have in common, such as its key and its channel. A command
// has them from here, where it would allocate an interface for each otherwise. Nil is none.
type Known []any

// Know makes texts known.
func Know(texts ...string) Known {
	k := make(Known, len(texts))
	for i, text := range texts {
		k[i] = text
	}
	return k
}

// find is text as an interface; nil if it is not known. Mostly it is the very same string, which is told by
// its address.
func (k Known) find(text string) any {
	for _, known := range k {
		if known.(string) == text {
			return known
		}
	}
	return nil
}

// A Layout is a command while it is put together, its keys first. Keys and arguments are not kept as they
// come but as what they contain, so that the caller's can stay on its stack; what is as it was in the
// script's last command, is taken from there. A lock that is taken again and again has everything but its
// owner in common with the time before. What many locks that take turns have in common with the time before
// is Known.
type Layout struct {
	script *Script
	call   *call
	args   []any
	last   []any // of the script's last command
	known  Known
}

// Layout begins a command of so many keys and arguments.
func (s *Script) Layout(n int) Layout {
	var l Layout
	l.begin(s, n)
	return l
}

func (l *Layout) begin(s *Script, n int) {
	l.script = s
	l.call, l.args = newCall(fixed + n)
	if last := s.last.Load(); last != nil {
		l.last = last.reply.Args()
	}
	l.args = append(l.args, "evalsha", s.sha, 0)
}

// Key adds a key.
func (l *Layout) Key(key string) {
	l.Text(key)
	l.args[fixed-1] = len(l.args) - fixed
}

// Text adds an argument.
func (l *Layout) Text(text string) {
	arg := l.known.find(text)
	if arg == nil {
		arg = same(l.last, len(l.args), text)
	}
	l.args = append(l.args, arg)
}

// Number adds an argument.
func (l *Layout) Number(n int64) { l.args = append(l.args, same(l.last, len(l.args), n)) }

// done is the command, which the script remembers. A big one is not worth its memory.
func (l *Layout) done() (*call, []any) {
	l.call.reply = *redis.NewIntCmd(context.Background(), l.args...)
	if len(l.args) <= remembered {
		l.script.last.Store(l.call)
	}
	return l.call, l.args
}

// layout puts a command together.
func (s *Script) layout(keys []string, args []any, known Known) (*call, []any) {
	l := Layout{known: known}
	l.begin(s, len(keys)+len(args)) // a Layout is big, and a copy of it costs as much as the command
	for _, key := range keys {
		l.Text(key)
	}
	l.args[fixed-1] = len(keys)
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			l.Text(arg)
		case int64:
			l.Number(arg)
		case int:
			l.args = append(l.args, arg)
		default: // kept as it is, it would have everybody's arguments allocated
			panic("redlatch: an argument of a script is neither a string nor an int or int64")
		}
	}
	return l.done()
}

// same is value as an interface, the last command's if that had it in the same place.
func same[V comparable](last []any, at int, value V) any {
	if at < len(last) {
		if before, ok := last[at].(V); ok && before == value {
			return last[at]
		}
	}
	return value
}

// first is the client's command for the first send, nil for every other one, and for one with other
// arguments.
func (c *call) first(args []any) *redis.IntCmd {
	if own := c.reply.Args(); len(own) == 0 || &own[0] != &args[0] || !c.sent.CompareAndSwap(false, true) {
		return nil
	}
	return &c.reply
}
