package fairlock_test

import (
	"errors"

	"github.com/redlatch/redlatch"
)

func runIfChild() {}

func redlatchNotAcquired(err error) bool { return errors.Is(err, redlatch.ErrNotAcquired) }
