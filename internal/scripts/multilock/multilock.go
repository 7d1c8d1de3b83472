// Package multilock holds the scripts of the group lock: several values of one group, taken together, in one
// hash.
//
//	g   <value>                              <owner>          TTL: the longest promise
//	    <value>:<owner>:expire_time          its deadline, by the server's clock
//	    <value>:<owner>:lock_count           its holds
//
// where <value> is the hash of a value; see Field. A value whose deadline has passed is free although its
// fields are there; whoever takes it removes them. An owner has all of its values or it has lost.
//
// What is said of counts and fresh owners in package scripts/rlock holds here.
package multilock

import (
	"embed"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

//go:embed *.lua
var folder embed.FS

var (
	values = scripts.Prelude(folder, "values.lua")

	acquire = scripts.Load(folder, "multilock/acquire", scripts.Clock, row.Stand, values)
	recount = scripts.Load(folder, "multilock/recount", scripts.Clock, values)
	release = scripts.Load(folder, "multilock/release", scripts.Clock, row.Told, values)
	renew   = scripts.Load(folder, "multilock/renew", scripts.Clock, values, notice.Gone)
	force   = scripts.Load(folder, "multilock/force", scripts.Clock, values)
	inspect = scripts.Load(folder, "multilock/inspect", scripts.Clock, values)
)

// hashKey is the key with which Redisson hashes values.
var hashKey = [4]uint64{0x9e3779b97f4a7c15, 0xf39cc0605cedc834, 0x1082276bf3a27251, 0xf86c6a11d0c18e95}

// Field is the field of a value: its 128-bit HighwayHash as text of 22 characters. It is that of a Redisson
// client with a string codec, the only one whose bytes can be known here. Redisson writes both halves of the
// hash with the high byte first.
func Field(value string) string {
	low, high := highwayHash128(hashKey, []byte(value))
	sum := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, low), high)
	return base64.RawStdEncoding.EncodeToString(sum)
}

// FieldLength is the length of every field.
const FieldLength = 22

func arguments(fields []string, first ...any) []any {
	for _, field := range fields {
		first = append(first, field)
	}
	return first
}

// Acquire takes all values for a fresh owner with one hold each, if all are free. A repetition changes
// nothing.
func Acquire(key, owner string, fields []string, lease time.Duration) scripts.Command[scripts.Attempt] {
	return Enlist(key, owner, fields, lease, nil, 0)
}

// Enlist is Acquire for an owner that stands in the process queue, of which queue is the key, when it is
// refused. Its process is known to be there for patience.
func Enlist(key, owner string, fields []string, lease time.Duration, queue []string,
	patience time.Duration) scripts.Command[scripts.Attempt] {
	args := arguments(fields, owner, scripts.Milliseconds(lease), scripts.Milliseconds(patience))
	return scripts.Integer(acquire, append([]string{key}, queue...), args, scripts.Taken).Needs(1)
}

// Recount sets the number of holds of an owner on each value and lengthens its deadlines to lease, never
// shortens them. It answers false, and changes nothing, when the owner has not all values any more. A lease
// of 0 leaves them alone.
func Recount(key, owner string, fields []string, holds int, lease time.Duration) scripts.Command[bool] {
	args := arguments(fields, owner, holds, scripts.Milliseconds(lease))
	return scripts.Integer(recount, []string{key}, args, scripts.Bool)
}

// Release frees the values of an owner, whatever the number of its holds, and tells the first in the process
// queue, or wakes all waiters. It answers false when the owner had not all of them any more, as it does when
// it is executed a second time; what it had is free.
func Release(key, owner string, fields []string, wake scripts.Wake, queue []string) scripts.Command[row.Release] {
	args := arguments(fields, owner, wake.Publish, wake.Channel)
	return scripts.Integer(release, append([]string{key}, queue...), args, row.Released).Needs(1)
}

// A Renewal is one owner whose deadlines are lengthened.
type Renewal = scripts.Renewal

// Renew lengthens the deadlines of owners of the same values, in groups of one cluster slot, and answers for
// each whether it still has them all. If not, none of its deadlines is lengthened.
func Renew(fields []string, renewals []Renewal) scripts.Command[scripts.Kept] {
	return scripts.Renew(renew, renewals, keys.Forced, []any{len(renewals)}, arguments(fields))
}

// Force frees the values whoever has them and wakes the waiters. It answers whether anybody had one.
func Force(key string, fields []string, wake scripts.Wake) scripts.Command[bool] {
	return scripts.Integer(force, []string{key}, arguments(fields, wake.Publish, wake.Channel), scripts.Bool)
}

// Status reads whether any value is taken, how long still, and how often all of them are by owner.
func Status(key, owner string, fields []string) scripts.Command[scripts.Status] {
	return scripts.Map(Inspect(key, fields), func(holders []Holder) (s scripts.Status) {
		for i, h := range holders {
			holds := h.Holds
			if h.Owner != owner {
				holds = 0
			}
			if h.Owner != "" {
				s.Exists, s.TTL = true, max(s.TTL, h.TTL)
			}
			if i == 0 || holds < s.Holds {
				s.Holds = holds
			}
		}
		return s
	})
}

// A Holder is who has one value.
type Holder struct {
	Owner string // empty when it is free
	TTL   time.Duration
	Holds int64
}

// Inspect reads who has which value, in the order of the fields.
func Inspect(key string, fields []string) scripts.Command[[]Holder] {
	return scripts.Array(inspect, []string{key}, arguments(fields), func(reply scripts.Reply) ([]Holder, error) {
		e := reply.Elements()
		holders := make([]Holder, len(fields))
		for i := range holders {
			holders[i].Owner = e.Text()
			_, holders[i].TTL = e.TTL()
			holders[i].Holds = e.Number()
		}
		return holders, e.End()
	})
}
