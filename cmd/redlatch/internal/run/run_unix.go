//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/guard"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
)

// Run takes the lock, has the guard run the command, and gives the lock back. The error has the exit code; one without text
// is the command's.
func Run(c Config) error {
	if err := c.Check(); err != nil {
		return exit.With(exit.Usage, err)
	}
	result := Result{Schema: schema, Name: views.NameOf(c.Name), began: time.Now()}
	if err := result.prepare(c.Result); err != nil {
		return exit.With(exit.Usage, err)
	}
	err := c.run(&result)
	result.Code = exit.Code(err)
	busy := new(busyError)
	if result.Outcome == "" {
		result.Outcome = exit.Name(result.Code)
		if errors.As(err, &busy) {
			result.Outcome = exit.Name(exit.Busy) // whatever -E says
		}
	}
	if own := new(exit.Error); err != nil && !(errors.As(err, &own) && own.Err == nil) {
		result.Error = err.Error()
	}
	if failed := result.write(c.Result); failed != nil {
		c.Complain("--result: %v", failed)
	}
	if busy.error != nil && c.silent() {
		return exit.Silently(result.Code)
	}
	return err
}

// prepare empties the file: it stays empty if this process is killed.
func (r *Result) prepare(file string) error {
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		return fmt.Errorf("--result: %w", err)
	}
	return nil
}

func (c *Config) run(result *Result) error {
	path, err := lookUp(c.Args[0])
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 64)
	for _, s := range guard.Forwarded {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	signal.Notify(signals, syscall.SIGCONT) // a stopped job waits for it
	defer signal.Stop(signals)
	if nested, err := c.nested(path, signals); nested {
		return err
	}
	if err := descendants.Adopt(); err != nil {
		return err
	}
	held, err := c.await(signals)
	result.got = time.Now()
	result.WaitedMS = result.got.Sub(result.began).Milliseconds()
	if err != nil {
		return err
	}
	result.Owner = held.owner
	h := &holder{config: c, held: held, signals: signals, result: result}
	err = h.hold(path)
	if h.lost == nil && time.Until(result.got.Add(c.AtLeast)) > 0 {
		connect.Leave(c.Client) // without this, ls would show the kept lock without a holder, or with one that is probably dead
	}
	released := held.release(context.Background())
	result.HeldMS = time.Since(result.got).Milliseconds()
	switch {
	case exit.Code(err) == exit.Lost && h.lost != nil:
		h.explained(released)
		return err
	case exit.Code(released) == exit.Lost:
		result.Outcome = ""
		return exit.With(exit.Lost, fmt.Errorf("the lock was found lost when it was given back: %w", released))
	case released != nil && c.AtLeast > 0:
		c.Complain("%s", strings.TrimPrefix(released.Error(), "redlatch: "))
	case released != nil:
		c.Complain("the lock could not be given back and is free when its lease is over: %v", released)
	}
	return err
}

// await takes the lock. A signal ends the wait.
func (c *Config) await(signals <-chan os.Signal) (*held, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type outcome struct {
		held *held
		err  error
	}
	if !c.Quiet {
		told := make(chan struct{})
		go func() { defer close(told); c.tell(ctx) }()
		defer func() { cancel(); <-told }()
	}
	done := make(chan outcome, 1)
	go func() {
		held, err := c.take(ctx)
		done <- outcome{held, err}
	}()
	var ended syscall.Signal
	for {
		select {
		case s := <-signals:
			if s, ok := s.(syscall.Signal); ok && s != syscall.SIGCONT {
				ended = s
				cancel()
			}
		case o := <-done:
			switch {
			case ended != 0:
				if o.held != nil { // it came in the same moment
					_ = o.held.release(context.Background()) // what fails is free when the lease is over
				}
				return nil, exit.Silently(exit.Signalled + int(ended))
			case exit.Code(o.err) == exit.Busy:
				return nil, exit.With(c.Busy, c.busy(ctx, o.err))
			}
			return o.held, o.err
		}
	}
}
