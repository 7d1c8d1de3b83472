// Package watchdog keeps alive what is held. It renews, or only checks, many tickets in few scripts, one
// pipeline for each server, and tells an owner the moment its hold can no longer be trusted. It knows nothing
// of Redis: it is given a Send.
//
//   - A ticket is trusted until its deadline. Only an answer moves the deadline, and only forward: to the
//     moment just before the send, plus the lease that the send asked for, minus the margin.
//   - At the deadline, or at the first answer "not its owner's", the ticket is lost: Owner.Lost runs once. A
//     lost ticket is never sent again, and no late answer revives it.
//   - A ticket that is forgotten causes nothing any more: no send includes it, no answer about it is read.
//   - Sends do not wait for one another. One that fails is repeated after a pause; one that is unanswered for
//     half a period (a sixth of a lease renewed every third) is doubled, up to three in flight for a ticket.
//   - A second after the last ticket has gone there is no goroutine and no armed timer, except for sends that
//     have not noticed yet that their context ended.
//
// A ticket's life:
//
//	          Keep             deadline, or "not its owner's"
//	idle ───────────▶ kept ───────────────────────────────────▶ lost
//	 ▲                 │ Change                                  │
//	 └──── Forget ─────┴──────────────── Forget ─────────────────┘
//
// Keep is possible from idle and from lost; each Keep is a new registration, and answers to sends of an
// earlier one are ignored.
//
// Failures. An error of Send says nothing about the tickets, so trust runs on unchanged and the send is tried
// again. When the process was stopped past a deadline, the clock decides before anything else is done: the
// ticket is lost, also if its answer arrived meanwhile. So it does when the system was suspended: the
// watchdog counts the time for which it was, where the system says so, and looks at the clock at least every
// second while it keeps anything.
package watchdog
