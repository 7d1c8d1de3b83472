package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/settings"
)

// Ways are how a lock is acquired and given back. Package locking has those of most locks; a fair lock and a
// read-write lock have their own, which they plug in with their Kind.
type Ways interface {
	// Acquire is a call that no hold of its context re-enters.
	Acquire(ctx context.Context, b *Base, set *settings.Settings, try bool) (*Hold, error)

	// GiveBack hands the tenure on, or releases it. No hold is left of its tenant, and the caller has the
	// send lock. held says that it was not lost.
	GiveBack(ctx context.Context, t *Tenure, limit delivery.Limit, held bool) error

	// Over is told of a tenure that is lost, or whose holds were all dropped or are over.
	Over(t *Tenure)
}

// Sharing lets holds of one process hold a lock as one. Package sides has it, for read locks.
type Sharing interface {
	// Began is told of a tenure that was acquired just now.
	Began(t *Tenure)

	// Vouch is what an Unlock answers that leaves other holds of its tenant behind: nil if Redis had the
	// tenure at ended, when the hold was over, or later.
	Vouch(ctx context.Context, t *Tenure, ended time.Time, lost error) error

	// Asks has other calls of the process wait for the answer to the question that t is about to ask, and
	// tells whether they will. LetIn has those calls hold with t that can, once it has an answer or was given
	// the lock.
	Asks(t *Tenure) bool
	LetIn(t *Tenure)

	// Asked tells whether calls of the process wait for such an answer.
	Asked(b *Base) bool

	// Refused is told that a question was refused.
	Refused(b *Base)

	// Join has the head of the local queue hold what others of its process hold. Where they are about to
	// leave the lock to other processes it answers after how long the head had better ask.
	Join(ctx context.Context, b *Base, set *settings.Settings, line *cohort.Cohort) (h *Hold, drain time.Duration)
}
