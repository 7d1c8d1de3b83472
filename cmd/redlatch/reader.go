package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
)

// What a command writes may go to a pipe whose reader has ended, as in "redlatch run ... 2>&1 | head". The system would end the
// process for that: a run would keep its lock for the rest of the lease, and an unlock could end between its question and what
// it was started for. So the write fails instead. A command that does something goes on to its end, with the exit code for what
// it has done; one that only shows something ends as one that the signal has ended.

// outliveReaders has writes to a pipe that nobody reads fail. The signal is heeded and not ignored: what is ignored would be
// ignored by the programs that this one starts, and what is heeded is not.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// unread tells whether err is that of a write to a pipe that nobody reads. A connection that is gone fails in the same way, and is no file.
func unread(err error) bool {
	var write *fs.PathError
	return errors.As(err, &write) && errors.Is(write.Err, syscall.EPIPE)
}

// unlessUnread is the error of a write that says what was done. Nobody misses it where nobody reads.
func unlessUnread(err error) error {
	if unread(err) {
		return nil
	}
	return err
}

// say writes what a command has done.
func (c call) say(format string, args ...any) error {
	_, err := fmt.Fprintf(c.stdout, format+"\n", args...)
	return unlessUnread(err)
}

// document writes it as JSON.
func (c call) document(d any) error { return unlessUnread(views.Write(c.stdout, d)) }

// complainWithin is how long a complaint may take.
const complainWithin = time.Second

// complain writes a line for people. A reader that reads no more would hold up the caller for ever, so a line that is not
// written in time is written behind its back, or never.
func complain(to io.Writer, format string, args ...any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fmt.Fprintf(to, format, args...) // an error means that nobody is to be told
	}()
	timer := time.NewTimer(complainWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
