package multilock

import (
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/multilock"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// grouped is the kind of a set of fields. Sets differ in their side, so a hold of one is re-entered only by
// its subsets, and in their cohort, so a call that waits for one value does not stand behind one that waits
// for another. Owners of the same set are renewed by one script.
func grouped(fields []string) *baselock.Kind {
	fields = slices.Sorted(slices.Values(fields)) // the order of values would make two sides of one set
	set := strings.Join(fields, "")
	queue := func(key string) []string { return []string{keys.GroupRow(key, multilock.Field(set))} }
	kind := baselock.Kind{
		Label: redlatch.KindGroupLock,
		Side: &baselock.Side{Name: set, Cohort: "group lock " + set,
			Includes: func(side string) bool { return contains(fields, split(side)) }},
		Takes:     baselock.LockOptions,
		Reentrant: true,
		Ways:      locking.Plainly{},
		Channel:   keys.LockChannel,
		Acquire: func(s baselock.Subject) scripts.Command[scripts.Attempt] {
			return multilock.Acquire(s.Key, s.Owner, fields, s.Lease)
		},
		Recount: func(s baselock.Subject) scripts.Command[bool] {
			return multilock.Recount(s.Key, s.Owner, fields, s.Holds, s.Lease)
		},
		Release: func(s baselock.Subject) scripts.Command[bool] {
			cmd := multilock.Release(s.Key, s.Owner, fields, s.Wake, queue(s.Key))
			return scripts.Map(cmd, func(r row.Release) bool { return r.Freed })
		},
		Queue: &baselock.Queue{
			Keys:  queue,
			Tells: true,
			Enqueue: func(s baselock.Subject, queue []string, patience time.Duration,
				_ bool) scripts.Command[row.Answer] {
				cmd := multilock.Enlist(s.Key, s.Owner, fields, s.Lease, queue, patience)
				return scripts.Map(cmd, func(a scripts.Attempt) row.Answer { return row.Answer{Attempt: a, At: 1} })
			},
			HandOff: func(s baselock.Subject, turn row.Turn) scripts.Command[row.Release] {
				return multilock.Release(s.Key, s.Owner, fields, s.Wake, turn.Row)
			},
		},
		Force: func(s baselock.Subject) scripts.Command[bool] { return multilock.Force(s.Key, fields, s.Wake) },
		Status: func(s baselock.Subject) scripts.Command[scripts.Status] {
			return multilock.Status(s.Key, s.Owner, fields)
		},
		Batch: "group lock " + set,
		Renew: func(renewals []scripts.Renewal) scripts.Command[scripts.Kept] {
			return multilock.Renew(fields, renewals)
		},
	}
	return &kind
}

// fieldsOf are the fields of a kind made by grouped, none of another. A key has locks of one kind only,
// unless the program mixes them, and then the server refuses.
func fieldsOf(kind *baselock.Kind) []string {
	if !strings.HasPrefix(kind.Batch, "group lock ") {
		return nil
	}
	return split(kind.Side.Name)
}

// split returns the fields of a set.
func split(set string) (fields []string) {
	for field := range slices.Chunk([]byte(set), multilock.FieldLength) {
		fields = append(fields, string(field))
	}
	return fields
}
