//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package terminal

import "os"

// unbuffered does nothing: q needs Enter.
func unbuffered(*os.File) (restore func()) { return func() {} }

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
