package countdownlatch

import "errors"

// Why Await does not wait although nothing was counted down. They say that the latch is open, but not because
// the work is done.
var (
	// ErrExpired: the latch was set and is gone without having been counted down. Its TTL ran out, or the server
	// lost or evicted it.
	ErrExpired = errors.New("redlatch: the latch has expired before it was counted down")

	// ErrDeleted: the latch was deleted before it was counted down.
	ErrDeleted = errors.New("redlatch: the latch was deleted before it was counted down")

	// ErrNotSet: no count is known. It was never set, or it is over for longer than the server remembers.
	ErrNotSet = errors.New("redlatch: the latch is not set")
)
