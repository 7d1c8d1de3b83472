package fleet

import (
	"cmp"
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
)

// A truth is what the keys of one object say, read by plain commands of which many travel together. Get asks
// the primitive instead, which knows some more; a test compares the two.
type truth struct {
	*look
	kind  redlatch.Kind
	named bool
	wrong string // what is there instead

	token  *redis.StringCmd
	queued *redis.StringSliceCmd
	taken  *redis.ZSliceCmd
}

// mostPermits is how many permits of one semaphore are read.
const mostPermits = 1000

// readTruths reads what is beside the keys themselves.
func readTruths(ctx context.Context, client sender, all []*truth) error {
	return ask(ctx, client, all, func(pipe redis.Pipeliner, t *truth) {
		switch t.kind {
		case redlatch.KindFencedLock:
			t.token = pipe.GetRange(ctx, keys.FencingToken(t.key), 0, mostDigits)
		case redlatch.KindFairLock:
			t.queued = pipe.LRange(ctx, keys.FairQueue(t.key), 0, mostShown-1)
		case redlatch.KindPermitSemaphore:
			t.taken = pipe.ZRangeWithScores(ctx, keys.PermitTimeouts(t.key), 0, mostPermits-1)
		}
	})
}

// quick judges the answers to the few commands with which a key is looked at that is expected to be of one
// shape. If it is not, or is too large for one step, that is to be found out.
func (c *candidate) quick() bool {
	c.ttl = ttlOf(c.lasts)
	gone := c.lasts.Err() == nil && c.lasts.Val() == -2
	switch {
	case gone:
		c.look.shape, c.found = absent, "nothing"
		return true
	case c.expected == number:
		n, ok := decimal(c.text.Val())
		c.look.shape, c.found, c.number = number, "a number", n
		return ok // else lookAt says all anew
	}
	page, cursor := c.page.Val()
	c.fields = merge(nil, page)
	c.look.shape, c.found = shapeOf(c.fields)
	if cursor == 0 && c.look.shape == c.expected && len(c.fields) <= mostFields {
		return true
	}
	*c.look = look{key: c.key}
	return false
}

// info is what the primitive's Inspect would say, but for what only a client itself knows.
func (t *truth) info(now time.Time) redlatch.Info {
	info := redlatch.Info{Name: t.key, Key: t.key, Kind: t.kind}
	if t.token != nil {
		info.Token, _ = decimal(t.token.Val())
	}
	if t.queued != nil {
		for _, owner := range t.queued.Val() {
			info.Queue = append(info.Queue, redlatch.Waiter{Owner: owner})
		}
	}
	if t.shape != shapeFor(t.kind) {
		return info
	}
	info.Exists, info.TTL = true, t.ttl
	switch t.shape {
	case values:
		group := groupInfo(t.key, t.look, now)
		info.Exists, info.TTL, info.Holders = group.Exists, group.TTL, group.Holders
	case number:
		info.Value = t.number
		if t.taken != nil {
			t.permits(&info, now)
		}
	default:
		for _, field := range slices.Sorted(maps.Keys(t.fields)) {
			holds, ok := decimal(t.fields[field])
			if !ok {
				continue // the mode of a read-write lock
			}
			h := redlatch.Holder{Owner: field, Holds: holds, TTL: t.ttl}
			if t.shape == sides {
				var writes bool
				h.Owner, writes = strings.CutSuffix(field, writeField)
				if h.Side = "read"; writes {
					h.Side = "write"
				}
			}
			info.Holders = append(info.Holders, h)
		}
	}
	return info
}

// permanent is the deadline of a permit without expiry.
const permanent = 922337203685477

// permits adds those that are taken. What has expired counts as available.
func (t *truth) permits(info *redlatch.Info, now time.Time) {
	info.Total = t.number + int64(len(t.taken.Val()))
	for _, z := range t.taken.Val() {
		left := time.Duration(-1)
		if z.Score != permanent {
			left = milliseconds(int64(z.Score) - now.UnixMilli())
		}
		if left == 0 {
			info.Value++
			continue
		}
		info.Holders = append(info.Holders, redlatch.Holder{Owner: hex.EncodeToString([]byte(text(z.Member))), Holds: 1,
			TTL: left})
	}
	slices.SortFunc(info.Holders, func(a, b redlatch.Holder) int { return cmp.Compare(a.Owner, b.Owner) })
}
