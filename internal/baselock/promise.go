package baselock

import (
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/scripts"
)

// A promise is the tenure that a script is to grant to a claimed waiter, in the place of another one of its
// process. The sender of the script ends the promise, by one of the methods below or by the end of the claim.
// An earlier send of the script that is executed late finds the former owner gone, and does nothing.
type promise struct {
	to    *tenure
	claim cohort.Claim
	over  bool
}

// end is for a sender that ends the claim itself.
func (p *promise) end(claimed func(cohort.Claim)) {
	p.over = true
	claimed(p.claim)
}

func promised(claim cohort.Claim) *promise {
	next := claim.Who().(*caller)
	return &promise{to: newTenure(next.Base, next.set), claim: claim}
}

// kept has the waiter hold, as the script has answered. If that came too late the waiter asks.
func (p *promise) kept(streak *cohort.Streak, receipt delivery.Receipt, reply scripts.Attempt) {
	p.to.streak = streak
	given, _ := p.to.accept(receipt, reply)
	if given == nil {
		p.refused()
		return
	}
	p.over, given.path = true, swapped
	switch {
	case !p.claim.Give(given, p.to.base.poll(p.to.first.set)):
		go given.decline()
	case p.to.base.Kind.Sharing != nil:
		p.to.base.Kind.Sharing.LetIn(p.to)
	}
}

// refused has the waiter ask for itself.
func (p *promise) refused() {
	p.over = true
	p.claim.Refuse()
}

// failed does what refused does, for a script that may have been executed, or may still be. What the script
// has taken is given back.
func (p *promise) failed(err error, cmd scripts.Command[scripts.Attempt]) {
	abandon(delivery.AsFailure(err), cmd, p.to.took, p.to)
	p.refused()
}

// broken is to be deferred. It ends a promise that nothing else has ended, because a hook of the client has
// panicked on the goroutine that sends the script. Without it the waiter would be promised the lock for ever.
func (p *promise) broken() {
	if !p.over {
		p.refused()
		p.to.doubted()
	}
}
