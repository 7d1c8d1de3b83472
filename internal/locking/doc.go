// Package locking has the ways in which a lock is acquired, handed on and given back, and what can be asked
// of it. [Plainly] are the ways of most locks. Those of a fair lock are in package fair, those of a
// read-write lock in package sides; both are made of what is here.
//
// # The way in
//
// A call that comes for a lock takes the first of these roads that is open to it:
//
//	re-enter            its context carries a hold of this lock                lock.go
//	beside              its context carries a hold of the other side           package sides
//	stand               the lock is fair: a place in Redis from the start      package fair
//	join                readers of this process hold, and it reads             package sides
//	yield               the lock is left to other processes for a moment       acquire.go
//	wait                calls of this process wait already, or hold            wait.go
//	ask                 none of these                                          acquire.go
//
// # The way out
//
// The last Unlock of a tenant takes the first of these steps that is possible (release.go):
//
//	step                commands  the waiter that holds next                   it needs
//	------------------  --------  -------------------------------------------  ------------------------------------
//	local hand-off      none      the first of the local queue                 equal terms, no doubt, fresh news,
//	                                                                           a streak that is not over
//	atomic hand-off     one       the same waiter, in a tenure of its own      a lock with such a script
//	remote hand-off     one       the first process of the process queue       a waiter there, or here
//	release             one       whichever asks first                         nothing
package locking
