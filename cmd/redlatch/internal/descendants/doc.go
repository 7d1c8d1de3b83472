//go:build unix

// Package descendants finds and signals the processes that a command has started, and those that they have started.
//
// On Linux these are all descendants: a subreaper inherits every orphan below it, so neither setsid nor a double fork escapes.
// Elsewhere they are the process group of the command; a process that leaves the group is not found.
package descendants

// A Command is the process whose descendants are meant, and the leader of a process group.
type Command struct {
	Pid   int  // 0 before it is started
	Ended bool // then its number may be another's before long
}
