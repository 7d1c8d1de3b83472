//go:build unix

// Package descendants finds and signals the processes that a command has started, and those that they have started.
//
// On Linux these are all descendants: a subreaper inherits every orphan below it, so neither setsid nor a double fork escapes.
// Elsewhere they are the process group of the command; a process that leaves the group is not found.
package descendants

// A Command is the process that redlatch run has started. It leads a process group of its own. The functions of this package find and
// signal its descendants.
type Command struct {
	Pid   int  // 0 before it is started
	Ended bool // then its number may be another's before long
}
