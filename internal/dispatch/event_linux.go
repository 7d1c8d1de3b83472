package dispatch

import (
	"encoding/binary"
	"os"
	"syscall"
	"time"
)

// An event wakes one goroutine by way of the network poller. A channel does that too, but the runtime then wakes a
// second thread in case there is more to do, and when the sender goes to sleep right after it, there is not: the
// thread looks around in vain, on a processor that the server may want. What the poller has made ready is run by the
// thread that asks it, which is the sender's own.
//
// An event carries nothing. Whoever waits looks at what is behind it, once before sleeping and again after each event.
type event struct {
	file   *os.File // an eventfd
	conn   syscall.RawConn
	signal func(fd uintptr)
}

// one is what is written: the counter behind it grows and is never read. To reach its end, 2^64, takes centuries.
var one = binary.NativeEndian.AppendUint64(nil, 1)

// newEvent returns nil where the system has none to give.
func newEvent() *event {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil
	}
	file := os.NewFile(fd, "redlatch-event")
	conn, err := file.SyscallConn()
	if err != nil || file.SetDeadline(time.Time{}) != nil { // the second fails if the poller does not watch the file
		_ = file.Close()
		return nil
	}
	// Every write is an edge for the poller, whatever the counter says, so nobody needs to read it.
	return &event{file: file, conn: conn, signal: func(fd uintptr) { _, _ = syscall.Write(int(fd), one) }}
}

// set wakes whoever waits. After close it does nothing; a bare write could reach a file that has got the number since.
func (e *event) set() { _ = e.conn.Control(e.signal) }

// wait returns when over does, which it calls first and after each event, or with an error after close. One goroutine
// waits at a time, another stands in line behind it.
func (e *event) wait(over func(fd uintptr) bool) error { return e.conn.Read(over) }

func (e *event) close() { _ = e.file.Close() }
