package scripts

import "time"

// A Renewal is one owner that is to be kept alive.
type Renewal struct {
	Key, Owner string
	Most       int           // where its lock has readers: the most holds that it ever had
	Lease      time.Duration // what its lease is lengthened to; 0 only asks whether the owner still holds
}

// A Kept is the answer to a renewal: which owners still hold.
type Kept struct {
	Alive []bool
	// by owner, as Redis has them, of those that hold no more and were freed by force; nil where there is none
	Notices map[int]string
	Looked  bool // the script looks for notices
}

// Renew makes the command of a script that lengthens leases. first is what it is told before it is told of
// the owners, and last what it is told behind that. notices names the key of the notices of a lock, without
// which the script can do: they are read only for an owner that holds no more.
func Renew(s *Script, renewals []Renewal, notices func(key string) string, first, last []any) Command[Kept] {
	names := make([]string, 0, 2*len(renewals))
	args := append(make([]any, 0, 2*len(renewals)+len(first)+len(last)), first...)
	for _, r := range renewals {
		names = append(names, r.Key)
		args = append(args, r.Owner, Milliseconds(r.Lease))
	}
	for _, r := range renewals {
		names = append(names, notices(r.Key))
	}
	return Renewing(s, names, len(renewals), append(args, last...), len(renewals))
}

// Renewing is the command of a script that renews, and answers with so many elements. It needs the first
// keys; the others are those of notices.
func Renewing(s *Script, names []string, needs int, args []any, elements int) Command[Kept] {
	return Array(s, names, args, func(reply Reply) (Kept, error) { return kept(reply, elements) }).Needs(needs)
}

// kept reads an array of n elements: 1 for an owner that holds; for another one its notice, or 0.
func kept(reply Reply, n int) (Kept, error) {
	e := reply.Elements()
	k := Kept{Alive: make([]bool, n), Looked: true}
	for i := range k.Alive {
		if text, ok := e.Lines(); ok {
			if k.Notices == nil {
				k.Notices = map[int]string{}
			}
			k.Notices[i] = text
			continue
		}
		k.Alive[i] = e.Bool()
	}
	return k, e.End()
}
