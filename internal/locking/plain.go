package locking

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/settings"
)

// Plain is the kind of the plain layout, a hash of owner and holds, which a primitive takes as it is or
// changes where it differs.
func Plain() baselock.Kind {
	return baselock.Kind{
		Label:     redlatch.KindLock,
		Takes:     baselock.LockOptions,
		Reentrant: true,
		Channel:   keys.LockChannel,
		Acquire: func(s baselock.Subject) scripts.Command[scripts.Attempt] {
			return rlock.Acquire(s.Key, s.Owner, s.Lease)
		},
		Recount: func(s baselock.Subject) scripts.Command[bool] {
			return rlock.Recount(s.Key, s.Owner, s.Holds, s.Lease)
		},
		Release: func(s baselock.Subject) scripts.Command[bool] { return rlock.Release(s.Key, s.Owner, s.Wake) },
		Force:   func(s baselock.Subject) scripts.Command[bool] { return rlock.Force(s.Key, s.Wake) },
		Status:  func(s baselock.Subject) scripts.Command[scripts.Status] { return rlock.Status(s.Key, s.Owner) },
		Inspect: rlock.Inspect,
		Batch:   "plain",
		Ways:    Plainly{},
		Side:    baselock.OneSided,
		Renew:   rlock.Renew,
	}
}

// NonReentrant returns a copy of the kind k. A lock of that kind refuses a call whose context carries a hold
// of the lock.
func NonReentrant(k baselock.Kind) baselock.Kind {
	k.Reentrant = false
	return k
}

// HandingOn is a kind of the plain layout whose holders hand the lock on to waiters of their process.
func HandingOn(k baselock.Kind) baselock.Kind {
	k.Takes |= settings.LocalHandOff
	k.HandsOn = true
	k.Atomic = func(from, to baselock.Subject) scripts.Command[scripts.Attempt] {
		return rlock.HandOver(from.Key, from.Owner, to.Owner, to.Lease)
	}
	return k
}

// HandingOver is a kind of the plain layout whose holders hand the lock on to waiters of their process, and
// then to another process.
func HandingOver(k baselock.Kind) baselock.Kind {
	k = HandingOn(k)
	k.Queue = &baselock.Queue{
		Keys: keys.LockRowKeys,
		Enqueue: func(s baselock.Subject, queue []string, patience time.Duration, looks bool) scripts.Command[row.Answer] {
			return rlock.Enlist(s.Key, s.Owner, s.Lease, queue, patience, looks)
		},
		HandOff: func(s baselock.Subject, turn row.Turn) scripts.Command[row.Release] {
			return rlock.Pass(s.Key, s.Owner, s.Wake, turn)
		},
	}
	k.Release = func(s baselock.Subject) scripts.Command[bool] {
		cmd := rlock.Pass(s.Key, s.Owner, s.Wake, row.Turn{Row: keys.LockRowKeys(s.Key)})
		return scripts.Map(cmd, func(r row.Release) bool { return r.Freed })
	}
	return k
}
