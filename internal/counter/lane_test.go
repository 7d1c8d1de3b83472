package counter_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/errs"
)

// Lanes that stay lent are more and more keys and memory, at the server too.
func TestWhateverAnOperationComesToItsLaneIsReturned(t *testing.T) {
	for what, do := range map[string]func(l *lab) error{
		"acquire": func(l *lab) error { return l.acquire(2) },
		"in vain": func(l *lab) error {
			err := l.counter.Acquire(l.Context(), l.counter.Defaults(), 100, &seeker{l.counter.Key, 100}, true)
			if errors.Is(err, errs.NotAcquired) {
				err = nil
			}
			return err
		},
		"change":  func(l *lab) error { _, err := l.add(2); return err },
		"release": func(l *lab) error { _, err := l.giveBack(2); return err },
	} {
		for when, begins := range map[string]func(f *faults){
			"it is executed":       func(*faults) {},
			"it never leaves":      func(f *faults) { f.refused.Store(true) },
			"its reply is lost":    func(f *faults) { f.lost.Store(true) },
			"it does not come far": func(f *faults) { f.gone.Store(true) },
		} {
			t.Run(what+"/"+when, func(t *testing.T) {
				inLab(t, func(l *lab) {
					begins(l.faults)
					err := do(l)
					require.Equal(t, when == "it is executed", err == nil)
					l.faults.refused.Store(false)
					l.faults.lost.Store(false)
					l.faults.gone.Store(false)
					time.Sleep(4 * time.Second) // a pause and an attempt at most
					call := l.counter.Session.BorrowLane("c")
					require.Zero(t, call.Lane)
					l.counter.Session.ReturnLane("c", call)
				})
			})
		}
	}
}
