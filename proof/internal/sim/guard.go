package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// A fenced lock has data behind a guard. Each write appends its name to a list. So in the end the list says which writes were
// made, how often, and in which order.

// guarded is the name under which the data of an object are judged; empty if it has none.
func (o Object) guarded() string {
	if o.Kind == Fenced {
		return o.Name + ".data"
	}
	return ""
}

// data is the key of the data.
func (o Object) data() string { return "{" + o.Name + "}:data" }

// claim tells the guard of a token.
func (c *Actor) claim(ctx context.Context, o Object, s Step, h Hold) {
	a := c.writing(o, h.Token(), 0)
	a.returned(c.guard(o, s, h).Claim(ctx, h.Token()), nil)
}

func (c *Actor) guard(o Object, s Step, h Hold) Guard {
	owner := ""
	if s.By {
		owner = h.Owner()
	}
	return c.Suite.Guard(c.Redis[0], o, owner)
}

// write writes through the guard.
func (c *Actor) write(ctx context.Context, o Object, s Step, h Hold) {
	if s.Hasty > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Hasty)
		defer cancel()
	}
	a := c.writing(o, h.Token(), 1)
	a.returned(c.guard(o, s, h).Do(ctx, h.Token(), "rpush", o.data(), fmt.Sprint(c.Name, "#", a.ops[0])), nil)
}

// writing records the call of a write that appends n names.
func (c *Actor) writing(o Object, token, n int64) *act {
	c.calls.Add(1)
	a := &act{client: c, ops: []int64{c.ops.Add(1)}}
	a.record(history.Call, history.Record{Object: o.guarded(), Mode: history.Write, Token: token, N: n})
	return a
}

// readData records what is in the data in the end.
func (w *world) readData(o Object) {
	names, err := w.servers[0].List(o.data()) // an error says that there is nothing
	if err != nil {
		names = nil
	}
	for _, name := range names {
		client, op, _ := strings.Cut(name, "#")
		r := history.Record{What: history.Stands, Object: o.guarded(), Client: client}
		if _, err := fmt.Sscan(op, &r.Op); err != nil {
			w.wrong("%q stands in the data of %s", name, o.Name)
			continue
		}
		w.write(r)
	}
	w.write(history.Record{What: history.Final, Object: o.guarded(), N: int64(len(names))})
}
