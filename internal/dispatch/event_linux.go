package dispatch

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"time"
)

// An event wakes one goroutine by way of the network poller. A channel does that too, but the runtime then
// wakes a second thread in case there is more to do, and when the sender goes to sleep right after it, there
// is not: the thread looks around in vain, on a processor that the server may want. What the poller has made
// ready is run by the thread that asks it, which is the sender's own.
//
// An event carries no data. The goroutine that waits calls over, once before it sleeps and again after each
// event, and over looks whether there is work. Linux wakes the poller at each write, but does not promise to
// do so. A lost event would leave work undone for ever, so a wait also looks once in each fallback, by a
// timer of the runtime. rouse uses that timer too, and so does not depend on the eventfd.
type event struct {
	file   *os.File // an eventfd
	conn   syscall.RawConn
	signal func(fd uintptr)
	until  time.Time // when a wait looks although there was no event; the waiter's
}

// fallback is how often a wait looks by itself, or up to twice as long: the timer is set once in that time
// and not at each wait.
const fallback = time.Second

// one is what is written: the counter behind it grows and is never read. To reach its end, 2^64, takes
// centuries.
var one = binary.NativeEndian.AppendUint64(nil, 1)

// newEvent returns nil where the system gives no eventfd, or the poller does not watch it.
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
	return &event{file: file, conn: conn, signal: func(fd uintptr) { _, _ = syscall.Write(int(fd), one) }}
}

// set wakes the goroutine that waits. After close it does nothing. A bare write to the descriptor would not
// be safe then: another file may have the same number by now.
func (e *event) set() { _ = e.conn.Control(e.signal) }

// rouse ends the sleep of the wait that is under way, by a deadline that is over, and not by the eventfd. If
// no wait is under way, the next one finds the deadline over and looks once more than it has to.
func (e *event) rouse() { _ = e.file.SetReadDeadline(time.Unix(1, 0)) }

// wait calls over at once and after each event, and returns when over answers true, or with an error after
// close. One goroutine waits at a time. The timer is set before over looks, so that a rouse before that is
// not lost.
func (e *event) wait(over func(fd uintptr) bool) error {
	for {
		if now := time.Now(); e.until.Sub(now) < fallback {
			e.until = now.Add(2 * fallback)
			if err := e.file.SetReadDeadline(e.until); err != nil {
				return err
			}
		}
		err := e.conn.Read(over)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		e.until = time.Time{}
	}
}

func (e *event) close() { _ = e.file.Close() }
