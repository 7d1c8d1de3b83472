package fleet

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/registry"
)

// mostUses is how many fields of one entry are read.
const mostUses = 50_000

// everything reads all fields of the entries, in steps: a large one in one piece would keep the server's
// others waiting.
func everything(ctx context.Context, client redlatch.Client, prefix string, all *entries, members []member) error {
	type entry struct {
		member
		key    string
		fields map[string]string
		cursor uint64
		cmd    *redis.ScanCmd
	}
	open := make([]*entry, 0, len(members))
	for _, m := range members {
		open = append(open, &entry{member: m, key: registry.Entry(prefix, m.id), fields: map[string]string{}})
	}
	for len(open) > 0 {
		err := ask(ctx, client, open, func(pipe redis.Pipeliner,
			e *entry) {
			e.cmd = pipe.HScan(ctx, e.key, e.cursor, "", perScan)
		})
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(e *entry) bool {
			page, cursor, err := e.cmd.Result()
			for n := 0; n+1 < len(page); n += 2 {
				e.fields[page[n]] = page[n+1]
			}
			e.cursor, e.cmd = cursor, nil
			switch {
			case err == nil && len(e.fields) > mostUses:
				all.bad(e.key, "", fmt.Sprintf("has more than %d fields; the rest was not read", mostUses))
			case err == nil && cursor != 0:
				return false
			}
			all.add(e.key, e.member, e.fields, err)
			return true
		})
	}
	return nil
}
