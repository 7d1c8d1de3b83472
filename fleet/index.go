package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/registry"
)

// A member is one client that an index names.
type member struct {
	id  string
	now time.Time // by the clock of the server that has the client's bucket
}

// perScan is how many elements one step of a scan is about.
const perScan = 500

// mostMembers bounds how many clients of one bucket are read. All 64 buckets together have 262 144 at most. A
// Redis user that may write to an index could put any number of names there.
const mostMembers = 4096

// An index is what has been read of one bucket's index.
type index struct {
	bucket int
	key    string
	now    time.Time
	cursor uint64
	cmd    *redis.ScanCmd

	found         map[string]bool // a scan may tell of a member twice
	looked        int
	wrong, future int // members that are left out
	cut           bool
}

// members are those of all indexes. A sorted set is scanned, for its order changes while it is read.
func (e *entries) members(ctx context.Context, client redlatch.Client, prefix string) (members []member, err error) {
	var open []*index
	for bucket := range registry.Buckets {
		key := registry.Index(prefix, bucket)
		open = append(open, &index{bucket: bucket, key: key, now: e.clocks.at(ctx, key), found: map[string]bool{}})
	}
	refused := map[string][]string{} // indexes by what the server says
	var elsewhere error
	for len(open) > 0 {
		err := ask(ctx, client, open, func(pipe redis.Pipeliner,
			i *index) {
			i.cmd = pipe.ZScan(ctx, i.key, i.cursor, "", perScan)
		})
		if err != nil {
			return nil, err
		}
		open = slices.DeleteFunc(open, func(i *index) bool {
			page, cursor, err := i.cmd.Result()
			i.cursor, i.cmd = cursor, nil
			if outcome.Of(err) == outcome.Moved {
				elsewhere = err
			}
			if err != nil {
				refused[err.Error()] = append(refused[err.Error()], i.key)
				return true
			}
			members = append(members, i.sift(page, e)...)
			if cursor != 0 && !i.cut {
				return false
			}
			i.leftOut(e)
			return true
		})
	}
	// a client of one server of a cluster: it sees a part of the keys, and would take the rest for free
	if elsewhere != nil {
		return nil, failed(elsewhere)
	}
	for _, said := range slices.Sorted(maps.Keys(refused)) {
		indexes, also := refused[said], ""
		if len(indexes) > 1 {
			also = fmt.Sprintf(" (also of %d others)", len(indexes)-1)
		}
		e.bad(indexes[0], "", said+also)
	}
	return members, nil
}

// sift returns the members of a page that may have entries.
func (i *index) sift(page []string, e *entries) (members []member) {
	for n := 0; n+1 < len(page); n += 2 {
		if i.cut = i.looked == mostMembers; i.cut {
			return members
		}
		i.looked++
		id := page[n]
		ends, _ := strconv.ParseFloat(page[n+1], 64)
		switch {
		case !isUUID.MatchString(id) || registry.Bucket(id) != i.bucket:
			if i.wrong++; i.wrong <= mostWrong {
				e.bad(i.key, short(id), "is not the uuid of a client of this bucket")
			}
		case i.found[id]:
		case ends > float64(i.now.Add(registry.Latest).UnixMilli()):
			i.future++
		default:
			i.found[id] = true
			members = append(members, member{id, i.now})
		}
	}
	return members
}

// leftOut says what of an index was not read.
func (i *index) leftOut(e *entries) {
	if i.wrong > mostWrong {
		e.bad(i.key, "", fmt.Sprintf("has %d more members that are no uuids of clients of this bucket", i.wrong-mostWrong))
	}
	if i.future > 0 {
		e.bad(i.key, "", fmt.Sprintf("has %d members whose entries are to end later than any entry does; these were "+
			"not read", i.future))
	}
	if i.cut {
		e.bad(i.key, "", fmt.Sprintf("has more than %d members; the rest was not read, so clients may be missing",
			mostMembers))
	}
}
