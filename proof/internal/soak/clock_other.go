//go:build !linux

package soak

import (
	"errors"
	"syscall"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// Elsewhere there is no clock here that several processes share.
const supported = false

func now() history.Time { return 0 }

func suspend(int) error { return errors.ErrUnsupported }
func resume(int) error  { return errors.ErrUnsupported }

func withUs() *syscall.SysProcAttr { return nil }
