//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// unbuffered has a terminal hand over each key at once and without showing it. Ctrl-C stays a signal.
func unbuffered(file *os.File) (restore func()) {
	fd := int(file.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}
	}
	raw := *was
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	_ = unix.IoctlSetTermios(fd, setTermios, &raw) // then q needs Enter
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }
}

func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), getTermios)
	return err == nil
}
