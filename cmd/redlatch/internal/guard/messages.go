//go:build unix

package guard

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"syscall"
	"time"
)

// A Plan is the first message to the guard.
type Plan struct {
	Path       Bytes
	Args       []Bytes
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

// Bytes are an argument of the command: any bytes, which need not be UTF-8.
type Bytes string

// MarshalText is how they travel.
func (b Bytes) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(b)), nil
}

// UnmarshalText reads what has travelled.
func (b *Bytes) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	*b = Bytes(raw)
	return err
}

// A Sender writes messages to a pipe, each of which can be read without those before it. A message of a few bytes is written whole or
// not at all, so one that finds the pipe full can be dropped: its reader is stopped.
type Sender struct {
	file *os.File
}

// NewSender makes a sender. The file has to be the writing end of a pipe, and must not block.
func NewSender(file *os.File) *Sender { return &Sender{file} }

// Close ends the messages, and with them the process that reads them.
func (s *Sender) Close() { _ = s.file.Close() }

// patience is how long a message waits for room in the pipe.
var patience = 10 * time.Millisecond

// Send writes one message.
func (s *Sender) Send(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, first := message.(Plan); first {
		_, err := s.file.Write(text)
		return err
	}
	// The deadline may pass before this process gets a processor, although the pipe has room. So it is tried without one first.
	if sent, err := s.try(text); sent || err != nil {
		return err
	}
	if err := s.file.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, late := s.file.Write(text)
	if err := s.file.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	return late
}

// try writes the text if there is room for it now.
func (s *Sender) try(text []byte) (sent bool, err error) {
	pipe, err := s.file.SyscallConn()
	if err != nil {
		return false, err
	}
	failed := pipe.Write(func(fd uintptr) bool {
		for {
			if _, err = syscall.Write(int(fd), text); err != syscall.EINTR {
				return true
			}
		}
	})
	if failed != nil {
		return false, failed
	}
	if err == syscall.EAGAIN {
		return false, nil
	}
	return err == nil, err
}

// receive decodes messages until the pipe ends, and closes the channel then.
func receive[M any](from *json.Decoder) <-chan M {
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
func Reports(from io.Reader) <-chan Report { return receive[Report](json.NewDecoder(from)) }
