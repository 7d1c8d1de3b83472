// Package fleet shows who holds what across all processes that share a Redis, and who waits, for every kind
// of object, those of Redisson included. It asks Redis alone, so it works when the application is down.
//
//	object, err := fleet.Get(ctx, rdb, redlatch.KindLock, "orders:42") // one object
//	if err != nil {
//		return err
//	}
//	for _, h := range object.Holders {
//		fmt.Println(h.Who(), "holds it since", h.Since)
//	}
//
//	report, err := fleet.List(ctx, rdb)    // all objects
//	clients, err := fleet.Clients(ctx, rdb) // all processes that have said who they are
//
// Two sources come together:
//
//   - The keys of an object are the truth about who holds it. They name identities: "<uuid>:<number>".
//   - A client that holds or waits for longer than a second keeps an entry in the registry, which says who is
//     behind its uuid: host, process, program, label. Entries are hints: they are some seconds old, a client
//     may be forbidden to write one, and whoever may write to Redis can forge one. What an entry claims and
//     the keys do not confirm is never among the holders; see [Object.Unconfirmed].
//
// An entry outlives its process, so that it answers who held a lock when the holder has died.
// [Client.LastSeen] tells how long ago the client reported last; one that lives does so every few seconds.
//
// Only [Holder.Free], [Holder.Ask] and [Watch] write to Redis, and nothing is subscribed to. Keys are read by
// plain commands and, for [Get], by the scripts of the primitives' Inspect. A client with go-redis' option to
// read from replicas may show what a replica has not heard yet.
//
// Names, and the texts of entries, may contain any bytes, such as control characters of a terminal. Quote
// them where you print them.
package fleet
