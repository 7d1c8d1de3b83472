// Package reporter decides when a client reports what it holds and waits for, and what of it has changed
// since the last report. It knows nothing of Redis: it is given a Look, which takes a snapshot, and a Send.
//
//   - It pulls. Its client calls Wake when something begins to be held or waited for, and not while the reporter
//     is awake, which is one atomic load. Nothing is called when something is given back: at its times the
//     reporter looks what there is.
//   - A report is sent once. If it has no answer, or is refused by a server that is expected to take the next
//     one, as in a failover, the next one writes the whole entry, an interval later.
//   - After any other refusal none is sent for ten minutes; never again if the program has no right to it, or
//     has closed its client.
//   - The interval grows with the number of clients, so that all together send a thousand reports a second. A
//     client that does not know the number yet waits longer each time, up to two minutes.
//   - While a viewer looks at the entries, which each answer tells, a client reports every second, and all
//     together send a thousand reports a second at most then too. Nothing is sent to find that out, and a
//     client that holds and waits for nothing sends nothing.
//   - The entry is removed by three tries at most, an interval apart. One that stays ends by itself.
//   - No goroutine waits. A report is made on the goroutine of the timer that was due.
//   - While its timer is set it keeps the reporter alive: while something is held or waited for, and until the
//     entry is removed.
//
// Its states, where ripe means that something has been held or waited for for a second:
//
//	      Wake        a second later: ripe
//	rest ──────► armed ───────────────────► listed ──┐ each interval: what has changed
//	 ▲            │ ▲ │                       │  ▲   │
//	 │  there is  │ │ │ not ripe: armed       │  └───┘
//	 └─ nothing ──┘ │ └─ for a second more    │
//	                └─────────────────────────┘ not ripe for linger: the entry is removed
//
// A program that gives back within a second whatever it takes never leaves armed, and sends nothing.
package reporter
