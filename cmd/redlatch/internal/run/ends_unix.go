//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/guard"
	screen "github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/internal/clock"
)

// lose begins the end of the command.
func (h *holder) lose(why error) {
	if !h.End(clock.Boot()) {
		return
	}
	h.lost = why
	h.guard.send(guard.Order{Kind: guard.Stop})
	h.config.Complain("the lock is lost, and the command is ended: %s", h.why())
}

// why is the reason of the loss, with the server where there was a reason.
func (h *holder) why() string {
	text := screen.Clean(strings.TrimPrefix(h.lost.Error(), "redlatch: "))
	if strings.Contains(text, h.config.Server) {
		return text
	}
	return h.config.Server + ": " + text
}

// unrenewed is the loss of a lock that was not renewed in time.
func (h *holder) unrenewed() error {
	if out := h.held.news.failing.Load(); out != nil {
		return fmt.Errorf("no renewal was answered for %s: %w", views.Age(time.Since(out.since)), out.err)
	}
	return errors.New("no renewal was answered in time, or this process did not run for so long")
}

// explained says more of a loss, where that is known: the person that took the lock away by force, or that
// the server was restarted. The error of Unlock has it, and the cause of the context has not.
func (h *holder) explained(released error) {
	loss := new(redlatch.LossError)
	if !errors.As(released, &loss) {
		return
	}
	why := ""
	switch {
	case loss.Forced != "":
		why = "it was freed by force by " + loss.Forced
	case loss.Reason == redlatch.ReasonRestarted:
		why = loss.Detail
	default:
		return
	}
	h.config.Complain("%s", screen.Clean(why))
	h.result.Error += "; " + why
}

// overdue finds out why no renewal is answered that was due some time ago, where the library has not said so yet: a server that is silent
// holds up a renewal for longer than a short lease has.
func (h *holder) overdue(now time.Duration) {
	lease := h.config.Lease
	spare := min(tellAfter, lease/6)
	if h.Ended() || h.asking || h.held.news.failing.Load() != nil || now < h.Until()-lease+lease/3+spare {
		return
	}
	h.asking = true
	n, since := h.held.news, time.Now().Add(-spare)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), spare)
		defer cancel()
		err := h.config.ping(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("the server is silent")
		}
		if err != nil {
			n.failing.CompareAndSwap(nil, &outage{since, err})
		}
	}()
}

// warn tells of an outage that lasts, while there is time for it to pass, and of its end.
func (h *holder) warn(now time.Duration) {
	out := h.held.news.failing.Load()
	switch {
	case h.config.Quiet || h.Ended():
	case out == nil && h.warned:
		h.warned = false
		h.config.Complain("the lock was renewed again")
	case out != nil && !h.warned && time.Since(out.since) >= tellAfter:
		h.warned = true
		h.config.Complain("no renewal was answered for %s, and the command is ended in %s unless one is: %s",
			views.Age(time.Since(out.since)), views.Age(h.Until()-h.Slack-h.KillAfter-now), h.config.unanswered(out.err))
	}
}

// stopTooLong ends the command when the time of --max-hold is over. The lock is held until nothing of it is left.
func (h *holder) stopTooLong(now time.Duration) {
	if h.limit == 0 || now < h.limit || !h.End(now) {
		return
	}
	h.tooLong = h.status == nil // else the command has ended by itself, and its exit code counts
	h.guard.send(guard.Order{Kind: guard.Stop})
	h.config.Complain("%v of --max-hold are over, and the command is ended", h.config.MaxHold)
}
