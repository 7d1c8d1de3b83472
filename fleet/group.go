package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
)

// groupInfo is what the hash of a group says: who has which value. Only their programs know what the values
// are called; Redis has a hash of each.
func groupInfo(key string, l *look, now time.Time) redlatch.Info {
	info := redlatch.Info{Name: key, Key: key, Kind: redlatch.KindGroupLock}
	for value, owner := range l.fields {
		if !isValue.MatchString(value) {
			continue
		}
		ends, _ := decimal(l.fields[value+":"+owner+deadlineField])
		holds, _ := decimal(l.fields[value+":"+owner+holdsField])
		if left := moment(ends).Sub(now); left > 0 {
			info.Holders = append(info.Holders, redlatch.Holder{Owner: owner, Holds: holds, Value: value, TTL: left})
			info.TTL = max(info.TTL, left)
		}
	}
	info.Exists = len(info.Holders) > 0
	slices.SortFunc(info.Holders, func(a, b redlatch.Holder) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Value, b.Value))
	})
	return info
}
