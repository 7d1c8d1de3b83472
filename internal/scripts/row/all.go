package row

import "github.com/redlatch/redlatch/internal/scripts"

// passAll has pass, with its preludes, as a function. That its arguments are called KEYS and ARGV hides those of the script
// from it.
var passAll = scripts.Load(folder, "row/pass_all", "local function pass(KEYS, ARGV)", scripts.Prelude(folder, "lone.lua"), NoToken,
	scripts.Prelude(folder, "row.lua"), scripts.Prelude(folder, "pass.lua"), "end")

// A Given is one of several locks that are given back.
type Given struct {
	Key, Owner string
	Channel    string // on which its waiters are told; empty for a lock that has no row, and whose waiters are not told
	Turn       Turn   // it has no candidate
}

// PassAll is Pass for several locks of one slot, each with an owner of its own, that issue no tokens.
func PassAll(locks []Given, publish string) scripts.Command[[]Release] {
	keys := make([]string, len(locks), 5*len(locks))
	args := make([]any, 2, 2+5*len(locks))
	args[0], args[1] = publish, len(locks)
	shut := false
	for i, l := range locks {
		if keys[i] = l.Key; l.Channel != "" {
			keys = append(keys, l.Turn.Row...)
		}
		args = append(args, l.Owner, l.Channel)
		shut = shut || l.Turn.Shut != 0
	}
	for _, l := range locks {
		args = append(args, scripts.Milliseconds(l.Turn.Lease))
		if shut {
			args = append(args, l.Turn.Shut.Milliseconds(), scripts.Milliseconds(l.Turn.Open))
		}
	}
	return scripts.Array(passAll, keys, args, func(reply scripts.Reply) (releases []Release, err error) {
		e := reply.Elements()
		releases = make([]Release, len(locks))
		for i := range releases {
			if releases[i], err = readRelease(scripts.Reply{Int: e.Number()}); err != nil {
				return nil, err
			}
		}
		return releases, e.End()
	}).Needs(len(locks))
}
