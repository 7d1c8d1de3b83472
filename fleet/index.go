package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/registry"
)

// A member is one client that an index names.
type member struct {
	id       string
	bucket   int
	interval time.Duration
	now      time.Time // by the clock of the server that has the bucket
}

// perScan is how many elements one step of a scan is about.
const perScan = 500

// members are those of all indexes. A sorted set is scanned, for its order changes while it is read.
func (e *entries) members(ctx context.Context, client redlatch.Client, prefix string) (members []member, err error) {
	type index struct {
		bucket int
		cursor uint64
		cmd    *redis.ScanCmd
	}
	var open []*index
	for bucket := range registry.Buckets {
		open = append(open, &index{bucket: bucket})
	}
	found := map[string]bool{}
	refused := map[string][]string{} // indexes by what the server says
	var sizes [registry.Buckets]int
	for len(open) > 0 {
		err := ask(ctx, client, open, func(pipe redis.Pipeliner, i *index) {
			i.cmd = pipe.ZScan(ctx, registry.Index(prefix, i.bucket), i.cursor, "", perScan)
		})
		if err != nil {
			return nil, err
		}
		open = slices.DeleteFunc(open, func(i *index) bool {
			page, cursor, err := i.cmd.Result()
			if err != nil {
				refused[err.Error()] = append(refused[err.Error()], registry.Index(prefix, i.bucket))
				return true
			}
			for n := 0; n+1 < len(page); n += 2 {
				id := page[n]
				if found[id] {
					continue
				}
				found[id] = true
				if sizes[i.bucket]++; !isUUID.MatchString(id) || registry.Bucket(id) != i.bucket {
					e.bad(registry.Index(prefix, i.bucket), id, "is not the uuid of a client of this bucket")
					continue
				}
				members = append(members, member{id: id, bucket: i.bucket})
			}
			i.cursor = cursor
			return cursor == 0
		})
	}
	for _, said := range slices.Sorted(maps.Keys(refused)) {
		indexes, also := refused[said], ""
		if len(indexes) > 1 {
			also = fmt.Sprintf(" (also of %d others)", len(indexes)-1)
		}
		e.bad(indexes[0], "", said+also)
	}
	for i, m := range members {
		members[i].interval = registry.Interval(sizes[m.bucket])
	}
	return members, nil
}
