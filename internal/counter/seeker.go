package counter

import (
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Seeker wants something of a counter.
type Seeker interface {
	// Begin makes an attempt for the seeker, which may take so many permits beside for the calls that wait
	// behind it, and sets up a semaphore of that size where there is none; nil: of the seeker's own size, if
	// it knows one. What becomes of one in doubt is no concern of the next.
	Begin(beside int64, size *lane.Size) Attempt

	// Spare gives back permits that were taken beside and that no call has moved to, without waiting for it.
	Spare(n int64)

	// Abandon gives back what the seeker has got, without waiting for it: its caller does not learn of it.
	Abandon()

	// Owner is how the events call what the seeker has got; empty where that has no identity. The program may
	// know it from now on.
	Owner() string

	// Told gives the seeker what tells the observer of the end of what the seeker has got.
	Told(of *observe.Hold)

	// Receive takes, on the seeker's goroutine, what has moved to it; see Goods.
	Receive(gift any)
}

// An Attempt is one script that asks for what a seeker wants.
type Attempt interface {
	Take(wake scripts.Wake, as row.Candidate, call lane.Call) scripts.Command[lane.Granted]
	Undo(wake scripts.Wake, call lane.Call) scripts.Command[int64] // gives back all that Take has taken

	// Unstored tells how the server remembers a Take. Where it is 0, the lane has the answer, and the Undo of
	// the attempt settles the Take in the lane. Else only what the Take took shows that it was executed. A copy
	// of the command could then be executed after the Undo, and take permits for a call that has ended. So the
	// Take is fenced first: after the fence no copy of it has an effect, and the Undo finds all that it took;
	// it is repeated for so long, or the usual time if that is longer. For the same reason a success is
	// believed only behind a fence when a copy may still be on its way.
	Unstored() (owed time.Duration)

	Announces() bool // the Take may wake other waiters, and needs the message for it also where there is no candidate

	Took(sent time.Time) error // tells the seeker, on its goroutine, that it was served; an error is the acquisition's
}

// A waiter is a seeker in a local queue.
type waiter struct {
	counter *Counter
	set     *settings.Settings
	seeker  Seeker
	n       int64 // what it wants
	queue   *cohort.Cohort
	request cohort.Request
}
