// Package wakeup is the pub/sub side of waiting: one subscriber connection per redis client (per master where
// channels are sharded), shared by every waiter of the process.
//
// # Nouns
//
// A hub is the wake-up side of one client. A connection is one subscriber connection. A shard is one server
// to which channels belong: all channels belong to one shard where channels are not sharded. A listener is
// one waiter's interest in a channel; a channel has a record here while it has listeners, and for Linger
// after the last of them. The manager is the goroutine that decides what each connection is to do.
//
// # What a waiter may rely on
//
//   - A wake-up carries nothing and promises nothing; the waiter asks Redis again.
//   - After Listener.Confirmed is closed, every message published on the channel leads to a wake-up, or the
//     connection is lost. A loss is told twice: when it is noticed, and when the subscription stands again,
//     because a message may have been published in between.
//   - A silent connection is noticed within Config.Idle + Config.Pong. A subscription that sits on a node
//     which answers but is no longer the master cannot be noticed from here; a part of the program that
//     sees it calls Suspect. The waiter's bounded poll is for the case that no part sees it.
//   - No method waits for the network, whatever state the connection is in.
//   - Without listeners, and after Config.Linger, nothing is left: no goroutine, no connection.
//
// # States of a channel
//
// A channel passes through these states, all of them under Hub.mu:
//
//	          Listen               shard known           handed to the writer       confirmed by the server
//	(absent) -------> unassigned ------------> wanted ---------------------> sent -------------------------> standing
//	                    ^                        ^                             |                                 |
//	                    |  sharded               |  otherwise                  | connection lost, moved, suspected
//	                    +------------------------+-----------------------------+---------------------------------+
//
// and is absent again when its last listener has been gone for Linger.
//
// # Goroutines
//
// One manager goroutine per hub decides everything and never touches the network. Each connection has a
// writer, which dials, writes and closes, and a reader; both may be stuck for seconds in a client library
// that holds its mutex while it dials, so the manager gives such a connection up, opens another one, and only
// outlives the stuck one in order to see it end.
package wakeup
