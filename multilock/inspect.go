package multilock

import (
	"context"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/raise"
)

// Inspect returns what each member knows about itself, in the order in which the members are taken. They are
// asked at the same time, so it takes as long as the slowest answer. One that cannot be asked, or does not
// answer, has its error there; the error of Inspect is always nil. The lock exists when any member does, and
// lasts as long as RemainingTTL says of those that answered.
func (l *Lock) Inspect(ctx context.Context) (redlatch.Info, error) {
	l.made()
	info := redlatch.Info{Name: l.of.Name, Kind: redlatch.KindMultiLock, Need: int64(len(l.members)),
		Members: make([]redlatch.Member, len(l.members))}
	if l.whole {
		info.Waiters = int64(l.of.Bases[0].Session.Waiters(l.of.Line))
	}
	raised := raise.All(len(l.members), func(i int) { info.Members[i] = inspected(ctx, l.members[i]) },
		l.of.Defaults.Logger)
	if raised != nil { // who asks in the background catches it, and has no answer
		panic(raised)
	}
	for _, m := range info.Members {
		info.Exists = info.Exists || m.Exists
		info.TTL = longer(info.TTL, m.TTL)
	}
	return info, nil
}

// inspected is what a member knows about itself.
func inspected(ctx context.Context, m redlatch.Locker) redlatch.Member {
	member := redlatch.Member{Info: redlatch.Info{Name: m.Name()}}
	if inspector, ok := m.(redlatch.Inspector); !ok {
		member.Err = cannot(m, "Inspect")
	} else if told, err := inspector.Inspect(ctx); err != nil {
		member.Err = err
	} else {
		member.Info = told
	}
	return member
}
