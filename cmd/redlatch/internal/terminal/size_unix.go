//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// size asks the terminal; 0 where it does not know.
func size(file *os.File) (width, height int) {
	s, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(s.Col), int(s.Row)
}
