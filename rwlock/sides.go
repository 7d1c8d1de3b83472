package rwlock

import (
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/sides"
)

// The waiters of both sides stand in one local queue, so that readers and writers are served in the order of
// arrival.
const together = redlatch.KindReadWriteLock

var readers = sides.Readers{
	Confirm: func(s baselock.Subject) scripts.Command[rwlock.Confirmation] {
		return rwlock.ConfirmRead(s.Key, s.Owner, s.Most, s.Lease, s.Wake, s.Listening)
	},
}

var reading = baselock.Kind{
	Label:     redlatch.KindReadLock,
	Takes:     baselock.LockOptions | settings.WriterPreference | settings.LocalHandOff,
	Reentrant: true,
	Side: &baselock.Side{
		Name: rwlock.Read, Cohort: string(together), Queued: together, Shared: true, Within: rwlock.Write, Of: sideOf,
		Turn: func(from, to baselock.Subject) scripts.Command[scripts.Attempt] {
			return rwlock.TurnWrite(from.Key, from.Owner, from.Most, from.Wake, to.Owner, to.Lease)
		},
	},
	Channel: keys.ReadWriteChannel,
	HandsOn: true,
	Queue: queue(func(s baselock.Subject, c rwlock.Candidate) scripts.Command[row.Answer] {
		return rwlock.StandRead(s.Key, s.Owner, s.Lease, s.Wake, c)
	}, func(s baselock.Subject, c rwlock.Candidate, next rwlock.Successor, attends bool) scripts.Command[row.Release] {
		return rwlock.HandOnRead(s.Key, s.Owner, s.Most, s.Wake, c, next, attends)
	}),
	Ways:    &readers,
	Sharing: &readers,
	Acquire: func(s baselock.Subject) scripts.Command[scripts.Attempt] {
		return rwlock.AcquireRead(s.Key, s.Owner, s.Lease, s.Host)
	},
	Recount: func(s baselock.Subject) scripts.Command[bool] {
		return rwlock.RecountRead(s.Key, s.Owner, s.Holds, s.Most, s.Lease)
	},
	Release: func(s baselock.Subject) scripts.Command[bool] {
		return rwlock.ReleaseRead(s.Key, s.Owner, s.Most, s.Wake)
	},
	Force: func(s baselock.Subject) scripts.Command[bool] { return rwlock.Force(s.Key, rwlock.Read, s.Wake) },
	Status: func(s baselock.Subject) scripts.Command[scripts.Status] {
		return rwlock.Status(s.Key, s.Owner, rwlock.Read)
	},
	Inspect: rwlock.Inspect,
	Batch:   "read",
	Renew:   rwlock.RenewRead,
}

// writing counts, and is renewed, as a plain lock whose field has a suffix.
var writing = func() baselock.Kind {
	kind := locking.Plain()
	kind.Label = redlatch.KindWriteLock
	kind.Takes |= settings.WriterPreference | settings.LocalHandOff
	kind.HandsOn = true
	kind.Ways = sides.Writers{}
	kind.Queue = queue(func(s baselock.Subject, c rwlock.Candidate) scripts.Command[row.Answer] {
		return rwlock.StandWrite(s.Key, s.Owner, s.Lease, rwlock.Announcement{Session: s.Session, For: s.Announce}, s.Wake, c)
	}, func(s baselock.Subject, c rwlock.Candidate, next rwlock.Successor, _ bool) scripts.Command[row.Release] {
		return rwlock.HandOnWrite(s.Key, s.Owner, s.Wake, c, next)
	})
	kind.Side = &baselock.Side{
		Name: rwlock.Write, Cohort: string(together), Queued: together, Field: rwlock.WriteSuffix, Barred: rwlock.Read,
		Bar: redlatch.ErrUpgrade, Of: sideOf,
		Turn: func(from, to baselock.Subject) scripts.Command[scripts.Attempt] {
			return rwlock.TurnRead(from.Key, from.Owner, from.Wake, from.Listening, to.Owner, to.Lease)
		},
		Withdraw: func(s baselock.Subject) scripts.Command[bool] { return rwlock.Withdraw(s.Key, s.Session, s.Wake) },
	}
	kind.Channel = keys.ReadWriteChannel
	kind.Acquire = func(s baselock.Subject) scripts.Command[scripts.Attempt] {
		return rwlock.AcquireWrite(s.Key, s.Owner, s.Lease, rwlock.Announcement{Session: s.Session, For: s.Announce})
	}
	kind.Release = func(s baselock.Subject) scripts.Command[bool] { return rwlock.ReleaseWrite(s.Key, s.Owner, s.Wake) }
	kind.Force = func(s baselock.Subject) scripts.Command[bool] { return rwlock.Force(s.Key, rwlock.Write, s.Wake) }
	kind.Status = func(s baselock.Subject) scripts.Command[scripts.Status] {
		return rwlock.Status(s.Key, s.Owner, rwlock.Write)
	}
	kind.Inspect = rwlock.Inspect
	return kind
}()

// queue is the process queue of both sides, with the scripts of one.
func queue(
	stand func(baselock.Subject, rwlock.Candidate) scripts.Command[row.Answer],
	handOn func(baselock.Subject, rwlock.Candidate, rwlock.Successor, bool) scripts.Command[row.Release],
) *baselock.Queue {
	return &baselock.Queue{
		Keys:   func(key string) []string { return []string{keys.ReadWriteRow(key)} },
		Tells:  true,
		Orders: true,
		Enqueue: func(s baselock.Subject, _ []string, patience time.Duration, _ bool) scripts.Command[row.Answer] {
			return stand(s, rwlock.CandidateOf(s.Owner, patience))
		},
		HandOff: func(s baselock.Subject, turn row.Turn) scripts.Command[row.Release] {
			c := rwlock.CandidateOf(turn.Next, turn.Patience)
			c.ID = turn.Candidate
			next := rwlock.Successor{}
			if c.Writes && turn.NextLease > 0 && !turn.Whoever {
				next = rwlock.Successor{Field: turn.Next, Lease: turn.NextLease}
			}
			return handOn(s, c, next, turn.Attends)
		},
	}
}

func sideOf(field string) (owner, side string) {
	if owner, ok := strings.CutSuffix(field, rwlock.WriteSuffix); ok {
		return owner, rwlock.Write
	}
	return field, rwlock.Read
}
