//go:build unix

// Package descendants finds and signals the processes that a command has started, and those that they have started.
//
// On Linux these are all descendants: a subreaper inherits every orphan below it, so neither setsid nor a double fork escapes.
// Elsewhere they are the process group of the command; a process that leaves the group is not found.
//
// The number of a process may be another's as soon as it was collected, so no signal is sent by a number alone: a child is signalled
// while it cannot be collected, and what was found elsewhere while it is seen to be the same.
package descendants

import "syscall"

// A Leader is the process that redlatch run has started. It leads a process group of its own.
type Leader interface {
	Pid() int
	// Group signals its process group. It sends nothing and answers false when the number may be another's.
	Group(sig syscall.Signal) bool
}
