package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
)

// List returns every object that is held or waited for, or that a client has named in its entry, and all
// clients.
//
// It finds objects in the entries and by the channels that have listeners, so it costs the server about as
// many microseconds as there are objects and clients, however many keys others have. Holders without an
// entry, as Redisson's are, of an object for which no call waits, are found only by looking at all keys. List
// does that where there are [ScanLimit] at most, or with [WithScan]; else [Report.Missing] says so. A number
// is listed only if an entry, a key or a channel of this library or of Redisson says that it is a counter,
// for it looks like that of any program.
//
// A replica is asked for nothing: the error is [ErrReplica].
//
// The objects are not of one moment. For readers of a read-write lock List has the TTL of the whole lock,
// where [Get] has that of each, and a reader that has died may be there until a writer comes.
func List(ctx context.Context, client redlatch.Client, opts ...Option) (*Report, error) {
	o := optionsOf(opts)
	known, err := readEntries(ctx, client, o, everything)
	if err != nil {
		return nil, err
	}
	report := &Report{At: known.clocks.first, Objects: []*Object{}, Clients: known.sorted, Unreadable: known.unreadable}
	if report.Keys, err = countKeys(ctx, client); err != nil {
		return nil, err
	}
	found := candidates{}
	found.fromEntries(known)
	if err := found.fromChannels(ctx, client); err != nil {
		return nil, err
	}
	if o.scan || report.Keys <= o.most {
		err = found.walk(ctx, client, report.Keys > o.most)
	} else {
		report.Skipped = report.Keys
	}
	if err != nil {
		return nil, err
	}
	objects, err := found.objects(ctx, client, known, o.prefix)
	if err != nil {
		return nil, err
	}
	report.Objects = slices.SortedFunc(maps.Values(objects), func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Kind, b.Kind))
	})
	return report, nil
}

// ErrReplica is the error of [List] for a client that is connected to a replica: what it has may be old, and
// nothing tells by how much. It matches redlatch.ErrUnavailable. A server that does not say what it is counts
// as a master.
var ErrReplica = fmt.Errorf("%w: the server is a replica, and what it shows may be old; connect to its master",
	redlatch.ErrUnavailable)

// CheckMaster returns [ErrReplica] if the client is connected to a replica, else nil. It is for a program that
// shows what [Get] has. The client of a cluster reads from the masters.
func CheckMaster(ctx context.Context, client redlatch.Client) error {
	node, single := client.(interface {
		Info(ctx context.Context, sections ...string) *redis.StringCmd
	})
	if _, cluster := client.(masters); cluster || !single || !isReplica(node.Info(ctx, "replication").Val()) {
		return nil
	}
	return ErrReplica
}

// isReplica tells by the answer to INFO replication, which is empty where the server does not say what it is.
func isReplica(info string) bool { return strings.Contains(info, "role:slave") }

// countKeys asks each master how many keys it has. The server of a client without a cluster is also asked
// whether it is a master.
func countKeys(ctx context.Context, client redlatch.Client) (n int64, err error) {
	err = everywhere(ctx, client, func(ctx context.Context, node sender) error {
		pipe := node.Pipeline()
		size := pipe.DBSize(ctx)
		var role *redis.StringCmd
		if _, cluster := client.(masters); !cluster {
			role = pipe.Info(ctx, "replication")
		}
		if err := exec(ctx, pipe); err != nil {
			return err
		}
		if role != nil && isReplica(role.Val()) {
			return ErrReplica
		}
		n += size.Val()
		return refused(size.Err())
	})
	return n, err
}

// place is where an object is: one key may be said to be of two shapes, which is a mistake of a program.
type place struct {
	shape shape
	key   string
}

// objects looks at the candidates.
func (found candidates) objects(ctx context.Context, client redlatch.Client, known *entries,
	prefix string) (map[place]*Object, error) {
	all := slices.Collect(maps.Values(found))
	if err := found.look(ctx, client, all); err != nil {
		return nil, err
	}
	var strangers []*look
	for _, c := range all {
		if !c.named && c.shape != foreign && c.shape != sides && c.shape != values {
			strangers = append(strangers, c.look)
		}
	}
	if err := lookBeside(ctx, client, strangers); err != nil {
		return nil, err
	}
	truths := map[place]*truth{}
	for _, c := range all {
		if kind := c.settle(known); kind != Detect {
			at := place{shapeFor(kind), c.key}
			if had := truths[at]; had == nil || c.named {
				truths[at] = &truth{look: c.look, kind: kind, named: c.named, wrong: c.wrong(kind)}
			}
		}
	}
	list := slices.Collect(maps.Values(truths))
	if err := readTruths(ctx, client, list); err != nil {
		return nil, err
	}
	queues := make([]*queue, len(list))
	for i, t := range list {
		queues[i] = &queue{kind: t.kind, key: t.key}
	}
	if err := readQueues(ctx, client, queues); err != nil {
		return nil, err
	}
	objects := map[place]*Object{}
	for i, t := range list {
		now := known.clocks.at(ctx, t.key)
		object := join(source{client, t.kind, t.key, options{prefix: prefix}}, t.info(now), queues[i], known, now)
		if t.wrong != "" {
			object.Unreadable = []Unreadable{{Key: t.key, Detail: t.wrong}}
		}
		if t.named && known.concern(t.key) || object.Info.Exists || len(object.Waiting.Processes) > 0 ||
			object.Waiting.Outsiders > 0 {
			objects[place{shapeFor(t.kind), t.key}] = object
		}
	}
	for at, o := range objects { // n and {n} share channels and some keys: what these say of n may be meant for {n}
		braced := objects[place{at.shape, "{" + at.key + "}"}]
		if braced != nil && braced.Info.Exists && !o.Info.Exists && !truths[at].named {
			delete(objects, at)
		}
	}
	return objects, nil
}

// wrong says that the key is something else than its entries say.
func (c *candidate) wrong(kind redlatch.Kind) string {
	switch {
	case c.err != nil:
		return c.err.Error()
	case c.shape == absent || c.shape == shapeFor(kind):
		return ""
	}
	return fmt.Sprintf("is %s, not a %s", c.found, kind.Noun())
}

// look looks at the candidates, at those that entries name by as few commands as it takes if the entries are
// right.
func (found candidates) look(ctx context.Context, client redlatch.Client, all []*candidate) error {
	var fresh, again []*look
	var quick []*candidate
	for _, c := range all {
		if c.named {
			quick = append(quick, c)
		} else {
			fresh = append(fresh, c.look)
		}
	}
	err := ask(ctx, client, quick, func(pipe redis.Pipeliner, c *candidate) {
		c.lasts = pipe.PTTL(ctx, c.key)
		if c.expected == number {
			c.text = pipe.GetRange(ctx, c.key, 0, mostDigits)
		} else {
			c.page = pipe.HScan(ctx, c.key, 0, "", 16)
		}
	})
	if err != nil {
		return err
	}
	for _, c := range quick {
		if !c.quick() {
			again = append(again, c.look)
		}
	}
	return lookAt(ctx, client, append(fresh, again...))
}
