package observe

import (
	"context"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/holds"
)

// watch has the observer and the log know if the hold is held for longer than limit.
func (h *Hold) watch(limit time.Duration, of Subject) {
	start, there, e := time.Now(), holds.Here(), h.event
	e.Kind = redlatch.EventLongHold
	h.long = (&alarm{of: of, event: e, logger: h.logger, others: "redlatch: locks of further names are held for " +
		"long, which have no line each",
		ring: func(ctx context.Context, a *alarm, whole bool) {
			e := a.event
			e.Duration = time.Since(start)
			if whole && a.logger != nil {
				a.logger.LogAttrs(ctx, slog.LevelWarn, "redlatch: a lock is held for long",
					slog.String("lock.name", e.Name),
					slog.String("lock.primitive", string(e.Primitive)), slog.String("lock.owner", e.Owner),
					slog.Int64("lock.token", e.Token),
					slog.Duration("lock.held", e.Duration.Round(time.Millisecond)), slog.Any("acquired_at", there))
			}
			Tell(context.Background(), h.observer, a.logger, e)
		}}).after(context.Background(), limit)
}
