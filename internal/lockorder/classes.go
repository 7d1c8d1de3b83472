package lockorder

// A Class is all mutexes of one field of one type.
type Class interface{ class() }

type mark struct{}

func (mark) class() {}

// The classes of mutexes. A new one needs rows in table.go for what is taken under it, and under what it is
// taken.
type (
	Alarm     struct{ mark } // observe.alarm
	Candidacy struct{ mark } // cohort.Candidacy
	Clock     struct{ mark } // of package clock
	Composite struct{ mark } // quorum.Hold
	Ending    struct{ mark } // holds.Ending
	FairQueue struct{ mark } // fairqueue.Queue
	Grant     struct{ mark } // of package permitsemaphore
	Hub       struct{ mark } // wakeup.Hub
	Lanes     struct{ mark } // session.lanes
	Lately    struct{ mark } // observe.recent
	Ledger    struct{ mark } // of package holds
	Listing   struct{ mark } // listing.Listing
	Lot       struct{ mark } // counter.lot
	Node      struct{ mark } // dispatch.node
	Notices   struct{ mark } // why.notices
	Places    struct{ mark } // of package holds
	Queue     struct{ mark } // cohort.Queue
	Registry  struct{ mark } // cohort.Registry
	Reporter  struct{ mark } // reporter.Reporter
	Session   struct{ mark } // session.Session
	Sessions  struct{ mark } // of package session
	Starts    struct{ mark } // why.starts
	Tenure    struct{ mark } // baselock.tenure
	Together  struct{ mark } // counter.together
	Watchdog  struct{ mark } // watchdog.Watchdog
)

// The classes of locks that are no mutexes. Commands are sent under them.
type (
	Attempt     struct{ mark } // of the head of a cohort.Queue, for which Queue.ClaimSoon waits
	Send        struct{ mark } // the send lock of a baselock.tenure
	LeaseChange struct{ mark } // permitsemaphore.grant.changing
)
