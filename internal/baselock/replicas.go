package baselock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
)

// attemptSynced is an attempt that counts only when enough replicas have it. With too few it is undone.
func (b *Base) attemptSynced(ctx context.Context, o *owner, cmd scripts.Command[scripts.Attempt], limit delivery.Limit) (*hold, time.Duration, error) {
	set := o.set
	reply, sent, acknowledged, unheard, err := delivery.Synced(ctx, b.Session.Dispatch, cmd, set.Replicas, set.ReplicaTimeout, limit)
	switch {
	case err != nil:
		return nil, 0, err
	case !reply.Held:
		return nil, reply.Remaining, nil
	case unheard == nil && acknowledged >= int64(set.Replicas):
		return o.accept(delivery.Receipt{Sent: sent}, o.set.FirstLease(), reply)
	}
	undone := make(chan struct{})
	go func() {
		o.giveUp()
		close(undone)
	}()
	select {
	case <-undone:
	case <-ctx.Done():
	}
	err = fmt.Errorf("%w: %s %q: %d of the %d asked for within %v; the acquisition was undone",
		errs.NotReplicated, b.Kind.Noun, b.Name, acknowledged, set.Replicas, set.ReplicaTimeout)
	if unheard != nil {
		err = fmt.Errorf("%w: %w", err, delivery.Unavailable(unheard))
	}
	return nil, 0, err
}

// checkReplicas refuses a timeout that the client's read timeout would cut short: the outcome would be unknown each
// time.
func (b *Base) checkReplicas(set *settings.Settings) error {
	if read := b.Session.Dispatch.ReadTimeout(); set.Replicas > 0 && read > 0 && set.ReplicaTimeout >= read {
		return errs.Wrong("WithReplicas(%d, %v): the timeout must be shorter than the client's read timeout of %v; "+
			"shorten the one or lengthen the other", set.Replicas, set.ReplicaTimeout, read)
	}
	return nil
}
