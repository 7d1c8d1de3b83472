//go:build !linux

package dispatch

import "errors"

// An event exists on Linux alone; elsewhere commands are handed over through channels.
type event struct{}

func newEvent() *event { return nil }

func (*event) set() {}

func (*event) rouse() {}

func (*event) wait(func(fd uintptr) bool) error { return errors.ErrUnsupported }

func (*event) close() {}
