package row

import "github.com/redlatch/redlatch/internal/scripts"

// passAll has pass, with its preludes, as a function. That its arguments are called KEYS and ARGV hides those
// of the script from it.
var passAll = scripts.Load(folder, "row/pass_all", "local function pass(KEYS, ARGV)", at(1),
	lone, NoToken, queue, give, scripts.Prelude(folder, "pass.lua"), "end")

// A Given is one of several locks that are given back.
type Given struct {
	Key, Owner string
	Channel    string // on which its waiters are told; empty for a lock that has no row, and whose waiters are not told
	Turn       Turn   // it has no candidate
}

// PassAll is Pass for several locks of one slot, each with an owner of its own, that issue no tokens.
func PassAll(locks []Given, publish string) scripts.Command[[]Release] {
	n := len(locks)
	l := passAll.Layout(2 + 10*n)
	for _, lock := range locks {
		l.Key(lock.Key)
	}
	shut := false
	for _, lock := range locks {
		shut = shut || lock.Turn.Shut != 0 || lock.Turn.Open != 0
	}
	for _, lock := range locks {
		if lock.Channel != "" {
			for _, key := range used(lock.Turn.Row, shut) {
				l.Key(key)
			}
		}
	}
	l.Text(publish)
	l.Number(int64(n))
	for _, lock := range locks {
		l.Text(lock.Owner)
		l.Text(lock.Channel)
	}
	for _, lock := range locks {
		l.Number(scripts.Milliseconds(lock.Turn.Lease))
		if shut {
			l.Number(lock.Turn.Shut.Milliseconds())
			l.Number(scripts.Milliseconds(lock.Turn.Open))
		}
	}
	return scripts.Laid(l, func(reply scripts.Reply) (releases []Release, err error) {
		e := reply.Elements()
		releases = make([]Release, n)
		for i := range releases {
			if releases[i], err = Released(scripts.Reply{Int: e.Number()}); err != nil {
				return nil, err
			}
		}
		return releases, e.End()
	}).Needs(n)
}
