//go:build unix

package guard

import (
	"bytes"
	"encoding/gob"
	"io"
	"os"
	"syscall"
	"time"
)

// A Plan is the first message to the guard.
type Plan struct {
	Path       string
	Args       []string
	Until      time.Duration // of clock.Boot
	KillAfter  time.Duration
	Slack      time.Duration
	Foreground bool // the command's group becomes the foreground group of the terminal at stdin
	Lend       bool // the command inherits a pipe that is open while the guard lives
}

// An Order is each message after it.
type Order struct {
	Kind   OrderKind
	Until  time.Duration  // of Trust
	Signal syscall.Signal // of Forward
}

// An OrderKind says what is ordered.
type OrderKind int

// The kinds of orders.
const (
	Trust   OrderKind = iota + 1 // the lock is held until a later moment
	Forward                      // a signal for the command
	Resume                       // the command was stopped and goes on
	Stop                         // the lock is lost
	LetGo                        // the rest is no longer guarded
)

// A Report is a message from the guard.
type Report struct {
	Kind   ReportKind
	Pid    int                // of Started
	Errno  syscall.Errno      // of Refused
	Status syscall.WaitStatus // of Stopped and Exited
}

// A ReportKind says what has happened.
type ReportKind int

// The kinds of reports.
const (
	Started ReportKind = iota + 1 // the command runs
	Refused                       // the command could not be started
	Stopped                       // the command was stopped, by Ctrl-Z for example
	Exited                        // the command has ended; what it has started may live
	Ending                        // the descendants are being ended
	Gone                          // no descendant is left
)

// A Sender writes messages to a pipe. A message of a few bytes is written whole or not at all, so one that finds the pipe full
// can be dropped: its reader is stopped.
type Sender struct {
	file    *os.File
	buffer  bytes.Buffer
	encoder *gob.Encoder
}

// NewSender makes a sender.
func NewSender(file *os.File) *Sender {
	s := &Sender{file: file}
	s.encoder = gob.NewEncoder(&s.buffer)
	return s
}

// patience is how long a message waits for room in the pipe.
const patience = 10 * time.Millisecond

// Send writes one message.
func (s *Sender) Send(message any) error {
	s.buffer.Reset()
	if err := s.encoder.Encode(message); err != nil {
		return err
	}
	if _, first := message.(Plan); !first {
		_ = s.file.SetWriteDeadline(time.Now().Add(patience)) // of a pipe it works
	}
	_, err := s.file.Write(s.buffer.Bytes())
	return err
}

// receive decodes messages until the pipe ends, and closes the channel then.
func receive[M any](from *gob.Decoder) <-chan M {
	messages := make(chan M, 16)
	go func() {
		defer close(messages)
		for {
			var m M
			if from.Decode(&m) != nil {
				return
			}
			messages <- m
		}
	}()
	return messages
}

// Reports are the guard's messages.
func Reports(from io.Reader) <-chan Report { return receive[Report](gob.NewDecoder(from)) }
