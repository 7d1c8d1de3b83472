//go:build !linux

package redistest

import "syscall"

// dieWithUs can ask for nothing here: a test process that ends without its cleanups leaves its servers running.
func dieWithUs() *syscall.SysProcAttr { return nil }

// standsStill believes the signal: there is no portable way to see that a process has stopped.
func standsStill(int) bool { return true }
