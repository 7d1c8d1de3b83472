package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

// interruptible is a context that ends by Ctrl-C or SIGTERM. A second one ends the program at once.
func interruptible() (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			code := exit.Interrupted
			if s == syscall.SIGTERM {
				code = exit.Terminated
			}
			cancel(exit.Silently(code))
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, func() { cancel(nil) }
}

// open makes the client of the command line, and a context that is interruptible. The caller calls done at its end.
func (c call) open() (ctx context.Context, client redis.UniversalClient, done func(), err error) {
	if client, err = c.Connect.Open(); err != nil {
		return nil, nil, nil, err
	}
	ctx, stop := interruptible()
	return ctx, client, func() { stop(); connect.Close(client) }, nil
}

// interruption is the error of a command that was interrupted, else err.
func interruption(ctx context.Context, err error) error {
	if own := context.Cause(ctx); err != nil && ctx.Err() != nil {
		return own
	}
	return err
}
