package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Kind is what one primitive adds to the base: its scripts, and the few things in which locks differ.
type Kind struct {
	Noun      string          // "lock", "write lock", for error texts
	Side      string          // tells the two sides of a read-write lock apart; the same for all that exclude each other by one owner
	Takes     settings.Option // the options that make sense
	Reentrant bool
	Channel   func(key string) string     // nil: releases are not announced, waiters poll
	Field     func(owner string) string   // nil: the owner itself is the field of the hash
	Pace      func() func() time.Duration // nil, or: makes the sleeps of one waiter who polls
	Acquire   func(key, owner string, lease time.Duration) scripts.Command[scripts.Attempt]
	Reenter   func(key, owner string, holds int, lease time.Duration) scripts.Command[scripts.Attempt] // nil: Recount serves
	Recount   func(key, owner string, holds int, lease time.Duration) scripts.Command[bool]
	Release   func(key, owner string, wake scripts.Wake) scripts.Command[bool]
	Force     func(key string, wake scripts.Wake) scripts.Command[bool]
}

// LockOptions are the options that every lock takes.
const LockOptions = settings.Lease | settings.MaxHold | settings.Wait | settings.WatchdogTimeout | settings.Replicas
