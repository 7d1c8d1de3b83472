//go:build unix

// Package guard is the second process of "redlatch run". It is the parent of the command, and ends the command and all that
// this has started before the lock can be another's.
//
//	holder ──"trusted until T"──► guard ──► command ──► ...
//	       ◄──what has happened──
//
// The holder is the process that the user has started: it has the lock and renews it. It tells the guard, by a pipe, up to
// which moment T the lock is certainly held. T is a moment of the clock that counts suspended time.
//
//	now < T - kill-after - slack   the command runs
//	from there on                  SIGTERM and SIGCONT to all descendants, once; there is no way back
//	from T - slack on              SIGKILL, again and again, until none is left
//
// The same begins at once when the holder says that the lock is lost, or when the pipe ends because the holder has. The
// holder in turn kills the command's descendants when the guard has ended: on Linux both are subreapers, and each orphan goes
// to the nearest of them that lives. If both are killed in one moment, the kernel kills the command, and what the command has
// started lives on: that is the one case that nobody is left to handle.
package guard
