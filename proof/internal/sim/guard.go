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
	fenced := s.fenced(o, h)
	a := c.writing(o, fenced.token, 0)
	a.returned(c.Suite.Guard(c.Redis[0], o).For(fenced).Claim(ctx), nil)
}

// fenced is the hold as the guard is told of it: with its owner, or with its token alone, as one that another process has passed on.
func (s Step) fenced(o Object, h Hold) fenced {
	f := fenced{name: o.Name, token: h.Token()}
	if s.By {
		f.owner = h.Owner()
	}
	return f
}

// A fenced does not change, so a write has the token that the history says.
type fenced struct {
	name  string
	token int64
	owner string
}

func (f fenced) Name() string  { return f.name }
func (f fenced) Token() int64  { return f.token }
func (f fenced) Owner() string { return f.owner }

// write writes through the guard.
func (c *Actor) write(ctx context.Context, o Object, s Step, h Hold) {
	if s.Hasty > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Hasty)
		defer cancel()
	}
	fenced := s.fenced(o, h)
	a := c.writing(o, fenced.token, 1)
	a.returned(c.Suite.Guard(c.Redis[0], o).For(fenced).Do(ctx, "rpush", o.data(), fmt.Sprint(c.Name, "#", a.ops[0])), nil)
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
