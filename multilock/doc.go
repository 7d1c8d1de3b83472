// Package multilock holds several locks as one: all of them or none.
//
//	lock := multilock.New([]redlatch.Locker{rlock.New(rdb, "account:1"), rlock.New(other, "account:2")})
//	err := lock.Do(ctx, func(ctx context.Context) error {
//		return transfer(ctx) // ctx ends the moment any of the locks may be lost
//	})
//
//	          all members held
//	asking ─────────────────────► held ──Unlock──► all given back
//	  │ ▲                          │
//	  ▼ │ a member takes long      └── one member lost ──► all lost
//	 all given back, the wait goes on for that member with nothing held
//
// [New] combines locks of any kind, on any clients. The members are taken in the order of their names,
// whatever order they are given in, so multi-locks do not wait for each other in a circle. Locks of one name
// are taken in the order of their keys, and groups of one key in that of their values. Only locks of one name
// and key on several servers, and composites and a program's own Lockers of one name, are taken in the order
// given, which should be the same everywhere. Programs that take the same locks one by one in another order
// could still close a circle; therefore no member is waited for longer than a moment while others are held.
// After that moment everything is given back, and the member that was busy is waited for with nothing held;
// then the members before it are only tried, and those behind it are waited for. The moments are random and
// grow, so two programs do not give way to each other for ever.
//
// Members of packages rlock and spinlock on one server, of a cluster in one slot, are taken and given back
// with one command, 256 at a time. For the first half second, or three refusals, nothing is held while one of
// them is busy.
//
// Goroutines of one process that want the same members wait for all of them in one queue, and hand all of
// them on to one another without a command, for 10 ms at most, unless [redlatch.WithoutLocalHandOff] is
// given. That is so where all members are locks of packages rlock and spinlock.
//
// A multi-lock has 1000 members at most. Where others have some of them each costs a command, so for many
// things that can live in one key a group is better.
//
// [NewGroup] locks some of the values of one group, in one key and one round trip, compatible with Redisson's
// getMultiLock(group, values).
//
// # Failures
//
// Whatever ends an acquisition (the context, a server, a member that refuses), everything that was taken is
// given back; a release that is not confirmed is repeated in the background until the lease is over. Each
// member is renewed by its own watchdog. When one is lost the hold is lost: its contexts end at once with an
// error that names the member, and the other members are given back by Unlock or, without it, five seconds
// later. A multi-lock over several servers is not a redlock: it needs every one of them.
package multilock
