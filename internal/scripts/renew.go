package scripts

import "time"

// A Renewal is one owner that is to be kept alive.
type Renewal struct {
	Key, Owner string
	Most       int           // where its lock has readers: the most holds that it ever had
	Lease      time.Duration // what its lease is lengthened to; 0 only asks whether the owner still holds
}

// Renew makes the command of a script that lengthens leases, and answers for each owner whether it still holds. Behind what it
// is told of each comes what it is told of all.
func Renew(s *Script, renewals []Renewal, all ...string) Command[[]bool] {
	keys := make([]string, len(renewals))
	args := make([]any, 0, 2*len(renewals)+len(all))
	for i, r := range renewals {
		keys[i] = r.Key
		args = append(args, r.Owner, Milliseconds(r.Lease))
	}
	for _, arg := range all {
		args = append(args, arg)
	}
	return Array(s, keys, args, func(reply Reply) ([]bool, error) { return Bools(reply, len(renewals)) })
}
