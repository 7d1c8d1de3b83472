package fleet

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
)

// WalkAtMost is an option: the number of keys up to which List walks unasked.
func WalkAtMost(n int64) Option { return func(o *options) { o.most = n } }

// AskOwner asks an owner that may not hold the object, as a holder is asked that has given it back since it was looked at.
func AskOwner(
	ctx context.Context, client redlatch.Client, kind redlatch.Kind, name, owner string, by Notice, wait time.Duration, opts ...Option,
) (Answer, error) {
	return Holder{Holder: redlatch.Holder{Owner: owner}, of: &source{client, kind, name, optionsOf(opts)}}.Ask(ctx, by, wait)
}
