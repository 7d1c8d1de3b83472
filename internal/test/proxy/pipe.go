package proxy

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// A pipeEnd is the client's end of a pipe, which fails as a socket does when the other end has closed: a client sends again
// what failed so, and not what a net.Pipe says.
type pipeEnd struct{ net.Conn }

func (p pipeEnd) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = &net.OpError{Op: "write", Net: "pipe", Err: syscall.EPIPE}
	}
	return n, err
}

func (p pipeEnd) SetDeadline(t time.Time) error      { return open(p.Conn.SetDeadline(t)) }
func (p pipeEnd) SetReadDeadline(t time.Time) error  { return open(p.Conn.SetReadDeadline(t)) }
func (p pipeEnd) SetWriteDeadline(t time.Time) error { return open(p.Conn.SetWriteDeadline(t)) }

// open leaves it to the next Read or Write to say that the pipe is closed.
func open(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
