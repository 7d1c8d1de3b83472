package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Kind is what one primitive adds to the base: its scripts, and the few things in which locks differ.
type Kind struct {
	Noun      string          // "lock", "write lock", for error texts and events
	Side      string          // tells the two sides of a read-write lock apart; empty for the others
	Takes     settings.Option // the options that make sense
	Reentrant bool
	Shared    bool // several owners may hold at once, so after one got in the next in line asks at once

	// What a lock with two sides adds; see sides.go.
	Field    string                                  // what follows the owner in the name of its field
	Line     string                                  // the line of this process in which the waiters of both sides stand; empty: that of the noun
	Within   string                                  // the side whose hold, in the context, admits this side beside it
	Barred   string                                  // the side whose hold, in the context, makes asking hopeless
	Bar      error                                   // and what is said then
	Sides    func(field string) (owner, side string) // nil, or tells whose field it is
	Withdraw func(Subject) scripts.Command[bool]     // nil, or takes back what a waiter has announced

	Tokens  func(key string) string                       // nil, or the key of the counter of fencing tokens
	Channel func(key string) string                       // nil: releases are not announced, waiters poll
	Pace    func(*settings.Settings) func() time.Duration // nil, or makes the sleeps of one waiter who polls

	Acquire func(Subject) scripts.Command[scripts.Attempt]
	Reenter func(Subject) scripts.Command[scripts.Attempt] // nil: Recount serves
	Recount func(Subject) scripts.Command[bool]            // re-entry, partial release, settling: never creates
	Release func(Subject) scripts.Command[bool]            // of all holds of the owner, whatever their number
	Force   func(Subject) scripts.Command[bool]

	// Local says that a holder may hand the lock on to the next waiter of its process without a command.
	Local bool

	// These three are nil for a kind whose release wakes all waiters. HandOver releases the lock of one owner and acquires it
	// for another of the same process, in one script. Enlist is Acquire for an owner that waits in the process queue. Pass is
	// Release that gives the lock to the first in that queue.
	HandOver func(from, to Subject) scripts.Command[scripts.Attempt]
	Enlist   func(s Subject, line string, patience time.Duration, looks bool) scripts.Command[row.Sitting]
	Pass     func(s Subject, turn row.Turn) scripts.Command[row.Release]

	Status  func(Subject) scripts.Command[scripts.Status]
	Inspect func(key string) scripts.Command[scripts.State]

	// Ask and Queued are for locks whose waiters stand in a queue in Redis; nil for the others. Ask is Acquire for an
	// owner who waits: it is put into the queue, and the entries of the others are confirmed. Release takes it out.
	Ask    func(s Subject, others []*fairqueue.Waiter) scripts.Command[fairlock.Answer]
	Queued func(key string) scripts.Command[[]string]

	Batch string // kinds whose owners may be renewed by one script share it
	Renew func([]Subject) scripts.Command[[]bool]
}

// gives tells whether a holder looks for the next waiter of its process before it releases the lock.
func (k *Kind) gives() bool { return k.Local || k.HandOver != nil }

// A Subject is what a script is about.
type Subject struct {
	Key    string
	Owner  string        // empty where the script is about the lock as such
	Holds  int           // the count that the owner is to have
	Most   int           // the most holds it may ever have had in Redis, this script included
	Token  int64         // the last that the owner has, 0 where there is none; of a re-entry the least that it may issue
	Block  int64         // how many tokens an owner that is handed the lock is to have
	Clock  bool          // its tokens are the server's time at least
	Lease  time.Duration // 0 for renewals that only check; those of a shared lock check with what is still promised
	Tokens string        // the key of their counter, empty where there is none
	Wake   scripts.Wake

	Host     string        // the field within which an acquisition is made; empty: none
	Session  string        // who announces that it waits
	Announce time.Duration // for how long; 0: not at all

	Patience time.Duration // of an owner who waits in a queue in Redis
}

// LockOptions are the options that every lock takes.
const LockOptions = settings.Lease | settings.MaxHold | settings.Wait | settings.WatchdogTimeout | settings.Replicas | settings.AtLeast
