// Package rootapi is what the root package offers to the other packages of this module and not to programs:
// to make a hold from what they have acquired, to take one over, and to make and apply options.
//
// The root package cannot be imported here, because it imports this package to set the variables. They are
// therefore typed with any where they mean a type of the root package.
package rootapi

import (
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/settings"
)

// Set by the root package when it is initialized.
var (
	NewHold   func(holds.Hold, *holds.Place) any        // makes a *redlatch.Hold
	Adopt     func(hold any) holds.Hold                 // takes a *redlatch.Hold
	NewOption func(change func(*settings.Settings)) any // makes a redlatch.Option
	Change    func(option any, s *settings.Settings)    // takes a redlatch.Option, which may be nil
	// the error of a Do, of work and of what gave back what the work had
	Joined func(work, release error) error
)

// Hold makes H, which is *redlatch.Hold, the public side of what was acquired there. From then on the program
// answers for it: one that it drops without Unlock is reported to inner as forgotten.
func Hold[H any](inner holds.Hold, there *holds.Place) H { return NewHold(inner, there).(H) }

// Option makes O, which is redlatch.Option, of a change of settings.
func Option[O any](change func(*settings.Settings)) O { return NewOption(change).(O) }

// For is the outcome of the options of New. It is shared by all that were made without any, and must not be
// changed.
func For[O any](options []O) *settings.Settings {
	if len(options) == 0 {
		return &standard
	}
	set := Apply(settings.Defaults(), options)
	return &set
}

// standard are the settings of everything that is made without options.
var standard = settings.Defaults()

// Apply adds options to a copy of s.
func Apply[O any](s settings.Settings, options []O) settings.Settings {
	for _, option := range options {
		Change(option, &s)
	}
	return s
}
