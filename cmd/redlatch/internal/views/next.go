package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

// Next is what to do about an object.
type Next struct {
	State   State  `json:"state"`
	Text    string `json:"text"`    // for people
	Command string `json:"command"` // for a shell; empty where there is none
}

// A State is how things are with an object.
type State string

// The states. A later version may have more.
const (
	Free    State = "free"     // nobody holds it, nobody waits
	Waited  State = "waited"   // nobody holds it, somebody waits
	Alive   State = "alive"    // held, and all holders' processes are seen
	Kept    State = "kept"     // the holder's program has given it back, or has ended, and WithAtLeast keeps it
	Silent  State = "silent"   // a holder's process is probably dead
	Unknown State = "unknown"  // held by somebody of whom it is not known whether they live
	NoLease State = "no-lease" // held by such a one, or by a dead one, and no lease ends that
	Count   State = "count"    // a counter whose holders Redis does not know
)

// next looks at the worst of the holders.
func (v *Inspect) next() Next {
	o := &v.Object
	switch {
	case o.counts() && o.kind != redlatch.KindPermitSemaphore:
		return o.nextOfCounter()
	case len(o.Holders) == 0 && o.waits() == 0 && o.ghosts() > 0:
		return Next{State: Free, Text: "Nothing: nobody holds it. The processes that said to wait for it have not been seen since and have " +
			"probably ended; what they said is forgotten ten minutes later."}
	case len(o.Holders) == 0 && o.waits() == 0:
		return Next{State: Free, Text: "Nothing: nobody holds it and nobody waits for it."}
	case len(o.Holders) == 0:
		return Next{State: Waited, Text: "Look again: whoever waits takes it within its poll interval. If it stays so, look at the processes that wait."}
	}
	worst, state := &o.Holders[0], Alive
	for i := range o.Holders {
		if h := &o.Holders[i]; rank(h.state()) > rank(state) {
			worst, state = h, h.state()
		}
	}
	n, then := Next{State: state}, ""
	switch state {
	case Alive:
		n.Text = fmt.Sprintf("Wait, or ask at %s: the process lives, and as long as it does it may renew the lease. Freeing it by force takes it from work "+
			"that is under way.", worst.who())
		return o.nextAsked(n)
	case Kept:
		n.Text = fmt.Sprintf("Wait for %s: the work of %s is done, and the lock is kept for so long so that it is not done again.", left(worst.Lease), worst.who())
		then = " To free it all the same:"
	case Silent:
		n.Text = fmt.Sprintf("Wait for %s: %s has not been seen for %s, and the lease ends by itself if nobody renews it.",
			left(worst.Lease), worst.who(), Age(worst.lastSeen))
		then = " To free it now:"
	case Unknown:
		n.Text = fmt.Sprintf("Look again in %s: if the lease has grown, %s lives and renews it.", left(worst.Lease), worst.process())
		then = " If you know that it is dead:"
	case NoLease:
		n.Text = fmt.Sprintf("Find out whether %s lives: no lease ends this hold.", worst.process())
		then = " If it is dead:"
	}
	if owners, _ := o.owners(); len(owners) > 1 && o.kind != redlatch.KindPermitSemaphore {
		n.Text += fmt.Sprintf(" Freed from this owner, it stays held by %s.", count(int64(len(owners)-1), "other"))
	}
	n.Text += then
	n.Command = o.unlock("--owner " + terminal.Word(worst.Owner))
	return n
}

// owners are those of all holders, once each, and those of them that can be asked.
func (o *Object) owners() (all, hear []string) {
	for _, h := range o.Holders {
		if slices.Contains(all, h.Owner) { // of a group each value has one
			continue
		}
		all = append(all, h.Owner)
		if h.hears {
			hear = append(hear, h.Owner)
		}
	}
	return all, hear
}

// nextAsked adds to n the command that asks the holders to give the object back, if any of them would hear it. A semaphore has room as
// soon as one owner gives a permit back. A lock is free only when all its owners have given it back.
func (o *Object) nextAsked(n Next) Next {
	switch all, hear := o.owners(); {
	case len(hear) == 0:
		n.Text += " Its program cannot be asked by this command."
	case len(all) == 1:
		n.Text += " To ask its program to give it back:"
		n.Command = o.unlock("--ask 10s")
	case o.kind == redlatch.KindPermitSemaphore:
		n.Text += fmt.Sprintf(" It is one of %d permits. To ask a program to give one back:", len(all))
		n.Command = o.unlock("--owner " + terminal.Word(hear[0]) + " --ask 10s")
	case len(hear) == len(all):
		n.Text += fmt.Sprintf(" It is one of %d owners. To ask all to give it back:", len(all))
		n.Command = o.unlock("--ask 10s")
	default:
		n.Text += fmt.Sprintf(" It is one of %d owners, of whom %d can be asked, and all must give it back before it is free. To ask one:", len(all), len(hear))
		n.Command = o.unlock("--owner " + terminal.Word(hear[0]) + " --ask 10s")
	}
	return n
}

// unlock is the command that does so with these flags.
func (o *Object) unlock(flags string) string {
	flags += " --reason TEXT"
	if strings.HasPrefix(o.Name, "-") {
		return "redlatch unlock " + flags + " -- " + terminal.Word(o.Name)
	}
	return "redlatch unlock " + terminal.Word(o.Name) + " " + flags
}

// process is what is called dead or alive.
func (h *Holder) process() string {
	if h.ClientID == "" { // the id of a permit does not name its client
		return "the process that has " + terminal.Clean(h.Owner)
	}
	return h.who()
}

func (h *Holder) state() State {
	switch {
	case h.Known && !h.Silent && !h.Ended && !h.Kept:
		return Alive
	case !h.Lease.Known:
		return NoLease
	case h.Ended, h.Kept:
		return Kept
	case h.Known:
		return Silent
	}
	return Unknown
}

func rank(s State) int {
	for i, state := range []State{Alive, Kept, Unknown, Silent, NoLease} {
		if state == s {
			return i
		}
	}
	return -1
}

func (o *Object) nextOfCounter() Next {
	dead := 0
	for _, c := range o.Unconfirmed {
		if c.Silent {
			dead++
		}
	}
	switch {
	case o.kind == redlatch.KindLatch && o.Exists:
		return Next{State: Count, Text: "Find out who has still to count down: Redis does not know who that is."}
	case o.kind == redlatch.KindLatch:
		return Next{State: Free, Text: "Nothing: nobody is kept waiting by a latch that is open."}
	case !o.Exists && o.waits() > 0:
		return Next{State: Count, Text: "Find out who is to set the number of permits: it was never set, or has expired."}
	case dead > 0:
		return Next{State: Count, Text: fmt.Sprintf("Give back the permits of %s that are probably dead: permits of a plain semaphore have no lease. "+
			"(A permit semaphore has.)", count(int64(dead), "process"))}
	case o.waits() == 0:
		return Next{State: Free, Text: "Nothing: nobody waits for it."}
	}
	return Next{State: Count, Text: "Wait, or raise the number of permits: permits of a plain semaphore have no owner from whom they could be taken."}
}
