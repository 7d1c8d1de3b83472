package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/registry"
)

// entries are what has been read of the registry.
type entries struct {
	clients    map[string]*Client
	sorted     []*Client
	uses       map[string][]usage // by key, in the order of sorted
	clocks     clocks
	unreadable []Unreadable
}

// of is the client with this uuid, nil if it has no entry.
func (e *entries) of(id string) *Client { return e.clients[id] }

// A usage is what one client says about one object.
type usage struct {
	client *Client
	ClientObject
}

// arrange sorts the clients by their hosts, programs and uuids, and what they use by its key.
func (e *entries) arrange() {
	e.sorted = slices.SortedFunc(maps.Values(e.clients), func(a, b *Client) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Program, b.Program), cmp.Compare(a.ID, b.ID))
	})
	e.uses = map[string][]usage{}
	for _, c := range e.sorted {
		for _, u := range c.Objects {
			e.uses[u.Key] = append(e.uses[u.Key], usage{c, u})
		}
	}
}

// concern tells whether a client whose program has not ended says anything about a key.
func (e *entries) concern(key string) bool {
	return slices.ContainsFunc(e.uses[key], func(u usage) bool { return !u.client.Ended })
}

func (e *entries) bad(key, field, detail string) {
	e.unreadable = append(e.unreadable, Unreadable{key, field, detail})
}

// Clients returns all clients that have an entry in the registry, in the order of their hosts, programs and
// uuids, with everything that they hold and wait for. One entry that makes no sense is left out; [List] says
// which.
func Clients(ctx context.Context, client redlatch.Client, opts ...Option) ([]*Client, error) {
	all, err := readEntries(ctx, client, optionsOf(opts), everything)
	if err != nil {
		return nil, err
	}
	return all.sorted, nil
}

// A reading reads the fields of the entries of some clients.
type reading func(ctx context.Context, client redlatch.Client, prefix string, all *entries, members []member) error

// readEntries finds the clients by the indexes and reads their entries.
func readEntries(ctx context.Context, client redlatch.Client, o options, read reading) (*entries, error) {
	clocks, err := readClocks(ctx, client)
	if err != nil {
		return nil, err
	}
	all := &entries{clients: map[string]*Client{}, clocks: clocks}
	members, err := all.members(ctx, client, o.prefix)
	if err != nil {
		return nil, err
	}
	if err := read(ctx, client, o.prefix, all, members); err != nil {
		return nil, err
	}
	all.arrange()
	return all, nil
}

// concerning reads of each entry who the client is and what it says about one object.
func concerning(kinds []redlatch.Kind, key string) reading {
	fields := []string{registry.AboutField, registry.SeenField, registry.EveryField}
	for _, kind := range kinds {
		fields = append(fields, registry.Thing{Kind: string(kind), Key: key}.Field())
	}
	return func(ctx context.Context, client redlatch.Client, prefix string, all *entries, members []member) error {
		cmds := make(map[string]*redis.SliceCmd, len(members))
		err := ask(ctx, client, members, func(pipe redis.Pipeliner, m member) {
			cmds[m.id] = pipe.HMGet(ctx, registry.Entry(prefix, m.id), fields...)
		})
		if err != nil {
			return err
		}
		for _, m := range members {
			read := map[string]string{}
			for i, value := range cmds[m.id].Val() {
				if text, ok := value.(string); ok {
					read[fields[i]] = text
				}
			}
			all.add(registry.Entry(prefix, m.id), m, read, cmds[m.id].Err())
		}
		return nil
	}
}

// mostWrong is how many fields of one entry are told that make no sense.
const mostWrong = 8

// add takes what was read of one entry. One without a field has ended since the index was read, or before.
func (e *entries) add(key string, m member, fields map[string]string, err error) {
	switch {
	case err != nil:
		e.bad(key, "", err.Error())
		return
	case len(fields) == 0:
		return
	}
	about, err := registry.ParseAbout(fields[registry.AboutField])
	if err != nil {
		e.bad(key, registry.AboutField, err.Error())
		return
	}
	seen, err := strconv.ParseInt(fields[registry.SeenField], 10, 64)
	if err != nil {
		e.bad(key, registry.SeenField, fmt.Sprintf("%q is not a time", short(fields[registry.SeenField])))
		return
	}
	c := newClient(m.id, about, seen, fields[registry.EveryField], m.now)
	wrong := 0
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !registry.IsThing(field) {
			continue
		}
		thing, err := registry.ParseThing(field, fields[field])
		if err != nil {
			if wrong++; wrong <= mostWrong {
				e.bad(key, field, short(err.Error()))
			}
			continue
		}
		c.Objects = append(c.Objects, newClientObject(m.id, thing))
	}
	if wrong > mostWrong {
		e.bad(key, "", fmt.Sprintf("has %d more fields that make no sense", wrong-mostWrong))
	}
	e.clients[m.id] = c
}
