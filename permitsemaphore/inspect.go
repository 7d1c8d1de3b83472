package permitsemaphore

import (
	"cmp"
	"context"
	"slices"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
)

// shown is how many permits Inspect tells of at most.
const shown = 1000

// Inspect tells whether the semaphore exists, how many permits it has and how many of them are available, for
// how long it lasts, how many calls of this process wait for it, and who has permits: a Holder for each
// permit, by its id, up to a thousand of those that end first.
func (s *Semaphore) Inspect(ctx context.Context) (redlatch.Info, error) {
	look, err := counter.Query(ctx, s.made(), script.Inspect(s.keys, shown))
	if err != nil {
		return redlatch.Info{}, err
	}
	inspections.Add(1)
	info := s.made().Info()
	info.Exists, info.TTL = look.Exists, look.TTL
	info.Value, info.Total = look.Available, look.Available+look.Acquired
	for _, one := range look.First {
		h := redlatch.Holder{Owner: text(one.ID), Holds: 1, TTL: one.Left}
		if own := s.own([]string{one.ID}); own != nil {
			h.Own, h.Since = true, own[0].Since.Time()
		}
		info.Holders = append(info.Holders, h)
	}
	slices.SortFunc(info.Holders, func(a, b redlatch.Holder) int { return cmp.Compare(a.Owner, b.Owner) })
	return info, nil
}

var _ redlatch.Inspector = (*Semaphore)(nil)
