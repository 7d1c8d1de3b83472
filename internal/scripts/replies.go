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
	Spare     int64         // how many more tokens, those behind it, are the owner's
	Freed     bool          // of a hand-off that failed: the giver has given the lock back, and others keep it
}

// Block is the answer to an owner that was issued so many tokens, at most as many as it wanted, of which last
// is the last.
func Block(last, tokens, wanted int64) (a Attempt, err error) {
	issued, err := Count(tokens, 1, int(min(wanted, last)))
	a.Spare = int64(issued) - 1
	return Attempt{Held: true, Token: last - a.Spare, Spare: a.Spare}, err
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

// Number reads one element of an array as an integer. A script sends a number that it read from Redis as
// text, because the numbers of Lua are exact only to 2^53.
func Number(element any) (int64, error) {
	switch element := element.(type) {
	case int64:
		return element, nil
	case string:
		return strconv.ParseInt(element, 10, 64)
	}
	return 0, fmt.Errorf("answered %v (%T) where a number was expected", element, element)
}

// Count checks a number that says how many of several things something is true of, or a place among them.
func Count(number int64, least, most int) (int, error) {
	if number < int64(least) || number > int64(most) {
		return 0, fmt.Errorf("answered %d where a number from %d to %d was expected", number, least, most)
	}
	return int(number), nil
}

// noEnd is a time without end.
const noEnd = -1

// longest is what every longer time in a reply counts as. A key may live for longer than a Duration can say,
// and a sum of two times has to fit as well.
const longest time.Duration = 1 << 62

// Time reads a number of milliseconds, or -1 for a time without end, which is negative here too.
func Time(milliseconds int64) (time.Duration, error) {
	switch {
	case milliseconds < noEnd:
		return 0, fmt.Errorf("answered %d where a number of milliseconds was expected", milliseconds)
	case milliseconds > longest.Milliseconds():
		return longest, nil
	}
	return time.Duration(milliseconds) * time.Millisecond, nil
}

// Moment checks a time of the server's clock in milliseconds since 1970. The difference of two fits into a
// Duration.
func Moment(milliseconds int64) error {
	if milliseconds < 0 || milliseconds > longest.Milliseconds() {
		return fmt.Errorf("answered %d where the time of a clock was expected", milliseconds)
	}
	return nil
}

// What many scripts answer whose other answers are times.
const (
	acquired = -3 // the owner holds the lock
	// the holder's lease has ended while the script ran, as it can on miniredis, whose clock goes on meanwhile
	ended = -2
)

// Taken decodes the reply of a script that answers -3 to an owner that holds the lock, and to everybody else
// how long the present holder's lease still lasts.
func Taken(reply Reply) (Attempt, error) {
	switch reply.Int {
	case acquired:
		return Attempt{Held: true}, nil
	case ended:
		return Attempt{}, nil
	}
	remaining, err := Time(reply.Int)
	return Attempt{Remaining: remaining}, err
}

// OfOwner decodes a Status: a reply of PTTL, and a count.
func OfOwner(reply Reply) (status Status, err error) {
	e := reply.Elements()
	status.Exists, status.TTL = e.TTL()
	status.Holds = e.Number()
	return status, e.End()
}
