package rootapi

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/internal/errs"
)

// Waits tells whether the options of a call, which would ask once without them, have it wait.
func Waits[O any](options []O) bool {
	set := For(options)
	return set.Wait > 0 || set.Once
}

// NotBusy is the error of a call that does without what is busy: nil for a refusal. One that was refused, but
// whose ctx has ended the wait, has not found out what it wanted to know.
func NotBusy(ctx context.Context, err error) error {
	if errors.Is(err, errs.NotAcquired) && ctx.Err() == nil {
		return nil
	}
	return err
}
