package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
)

// Get returns one object: who holds it by Redis' own keys, who these are, and who waits. It exists or not: a
// lock that is free is an Object without holders.
//
// If Redis has something else under the name, the error is a [*KindError] that says what. With Detect the
// kind comes from the key, the keys beside it, and the entries. Locks but read-write and group locks look the
// same in Redis; without other evidence such a one is a Lock. A number may be any program's: without evidence
// it is a KindError. Where nothing is there that tells, the object's kind is Detect.
//
// Get reads a few fields of the entry of each client, so it costs the server a few microseconds per client. A
// user who may run no scripts gets what [List] knows. Unlike List it does not look whether the server is a
// replica: from one it has what is copied.
func Get(ctx context.Context, client redlatch.Client, kind redlatch.Kind, name string,
	opts ...Option) (*Object, error) {
	return source{client, kind, name, optionsOf(opts)}.get(ctx)
}

// A source is where an object can be read again.
type source struct {
	client  redlatch.Client
	kind    redlatch.Kind
	name    string
	options options
}

func (s source) get(ctx context.Context) (*Object, error) {
	client, name, o := s.client, s.name, s.options
	kind := whole(s.kind)
	key := o.key(name)
	switch {
	case key == "":
		return nil, errs.Wrong("the name is empty")
	case kind != Detect && shapeFor(kind) == unknown:
		return nil, errs.Wrong("%q is no kind of object that can be looked at; see Kinds", kind)
	}
	l := &look{key: key}
	if err := lookAt(ctx, client, []*look{l}); err != nil {
		return nil, err
	}
	if outcome.Of(l.err) == outcome.Moved {
		return nil, failed(l.err)
	}
	if l.err != nil {
		return nil, fmt.Errorf("redlatch: %q cannot be looked at: %w", key, l.err)
	}
	known, err := readEntries(ctx, client, o, concerning(entryKinds(kind), key))
	if err != nil {
		return nil, err
	}
	if kind, err = kindOf(ctx, client, l, kind, known); err != nil {
		return nil, err
	}
	now := known.clocks.at(ctx, key)
	info, err := inspect(ctx, client, kind, name, l, now, o.primitives)
	if redis.HasErrorPrefix(err, "NOPERM") { // a user who may only read may run no script
		t := &truth{look: l, kind: kind}
		if err = readTruths(ctx, client, []*truth{t}); err == nil {
			info = t.info(now)
			info.Name = name
		}
	}
	if err != nil {
		return nil, err
	}
	q := &queue{kind: kind, key: key}
	if err := readQueues(ctx, client, []*queue{q}); err != nil {
		return nil, err
	}
	object := join(source{client, kind, name, o}, info, q, known, now)
	object.Unreadable = known.unreadable
	object.Forced, err = readForced(ctx, client, key)
	return object, err
}

// inspect asks the primitive.
func inspect(ctx context.Context, client redlatch.Client, kind redlatch.Kind, name string, l *look, now time.Time,
	opts []redlatch.Option) (redlatch.Info, error) {
	open := rowFor(kind).open
	switch {
	case kind == redlatch.KindGroupLock:
		info := groupInfo(l.key, l, now)
		info.Name = name
		return info, nil
	case open == nil:
		return redlatch.Info{Name: name, Key: l.key}, nil
	}
	info, err := open(client, name, opts).Inspect(ctx)
	info.Kind = kind // a read-write lock calls itself by the side that was asked
	return info, err
}
