package run

import (
	"context"
	"time"
)

// within is what a question to Redis answers, or the end of its limit: a client does not look at its context while it waits for an
// answer.
func within[T any](ctx context.Context, limit time.Duration, ask func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	type result struct {
		answer T
		err    error
	}
	results := make(chan result, 1)
	go func() {
		defer cancel()
		answer, err := ask(ctx)
		results <- result{answer, err}
	}()
	select {
	case r := <-results:
		return r.answer, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-results: // it has answered, and ended ctx
		return r.answer, r.err
	default:
		return answer, ctx.Err()
	}
}
