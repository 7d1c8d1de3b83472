//go:build unix && !linux

package guard

import "syscall"

func attributes(foreground bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: !foreground, Foreground: foreground}
}
