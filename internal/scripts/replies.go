package scripts

import (
	"fmt"
	"strconv"
	"time"
)

// An Attempt is what a lock answered to somebody who wants it.
type Attempt struct {
	Held      bool
	Remaining time.Duration // until the present holder's lease is over; negative when its key has no TTL. 0 when held
	Token     int64         // fencing token; 0 for locks that issue none
}

// A State is everything that the hash of a lock says.
type State struct {
	Exists bool
	TTL    time.Duration // negative when the key has none; 0 when it does not exist
	Fields map[string]string
	TTLs   map[string]time.Duration // of the fields that have one of their own; nil where none can have
}

// A Status is what the hash of a lock says of one owner, at a price that does not grow with the hash.
type Status struct {
	Exists bool
	TTL    time.Duration // negative when the key has none; 0 when it does not exist
	Holds  int64         // of the owner that was asked for; 0 when it has none
}

// Bool decodes the reply of a script that answers 1 for yes and 0 for no.
func Bool(reply Reply) (bool, error) {
	switch reply.Int {
	case 0:
		return false, nil
	case 1:
		return true, nil
	}
	return false, fmt.Errorf("answered %d where 0 or 1 was expected", reply.Int)
}

// Int64 decodes the reply of a script that answers a number.
func Int64(reply Reply) (int64, error) { return reply.Int, nil }

// Number reads one element of an array as an integer. A script sends a number that it read from Redis as text, because
// the numbers of Lua are exact only to 2^53.
func Number(element any) (int64, error) {
	switch element := element.(type) {
	case int64:
		return element, nil
	case string:
		return strconv.ParseInt(element, 10, 64)
	}
	return 0, fmt.Errorf("answered %v (%T) where a number was expected", element, element)
}

// noKey is what PTTL says of a key that does not exist.
const noKey = -2

// TTL reads a reply of PTTL: whether the key exists, and how long it still lives, negative when without end.
func TTL(element any) (exists bool, ttl time.Duration, err error) {
	milliseconds, err := Number(element)
	if err != nil || milliseconds == noKey {
		return false, 0, err
	}
	return true, time.Duration(milliseconds) * time.Millisecond, nil
}
