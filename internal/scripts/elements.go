package scripts

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Elements are what is left to read of an array. The first element that is not what the reader expects ends
// the reading: what is read from there on is zero, and End tells what was wrong.
type Elements struct {
	left []any
	err  error
}

// Elements are those of the array.
func (r Reply) Elements() Elements { return Elements{left: r.List} }

// More tells whether there is an element to be read.
func (e *Elements) More() bool { return e.err == nil && len(e.left) > 0 }

// End tells what was wrong: an element, or their number.
func (e *Elements) End() error {
	if e.More() {
		e.err = fmt.Errorf("answered %d more elements than were expected", len(e.left))
	}
	return e.err
}

func (e *Elements) next() (element any) {
	switch {
	case e.More():
		element, e.left = e.left[0], e.left[1:]
	case e.err == nil:
		e.err = errors.New("answered fewer elements than were expected")
	}
	return element
}

// Text reads an element as text.
func (e *Elements) Text() string { return fmt.Sprint(e.next()) }

// Lines reads an element if it is a text of several lines, where a number is another answer.
func (e *Elements) Lines() (text string, ok bool) {
	if !e.More() {
		return "", false
	}
	if text, _ = e.left[0].(string); !strings.Contains(text, "\n") {
		return "", false
	}
	e.next()
	return text, true
}

// Array reads an element that is an array itself.
func (e *Elements) Array() Elements {
	list, _ := e.next().([]any)
	return Elements{left: list}
}

// Pairs reads the rest as names with their values.
func (e *Elements) Pairs() map[string]string {
	pairs := make(map[string]string, len(e.left)/2)
	for e.More() {
		name := e.Text()
		pairs[name] = e.Text()
	}
	return pairs
}

// Number reads an integer.
func (e *Elements) Number() (number int64) {
	if element := e.next(); e.err == nil {
		number, e.err = Number(element)
	}
	return number
}

// Bool reads an integer that is 1 for yes and 0 for no.
func (e *Elements) Bool() bool { return e.Count(0, 1) == 1 }

// Count reads an integer as [Count] checks it.
func (e *Elements) Count(least, most int) (count int) {
	if number := e.Number(); e.err == nil {
		count, e.err = Count(number, least, most)
	}
	return count
}

// Time reads a number of milliseconds as [Time] does.
func (e *Elements) Time() (d time.Duration) {
	if milliseconds := e.Number(); e.err == nil {
		d, e.err = Time(milliseconds)
	}
	return d
}

// Moment reads a time of the server's clock as [Moment] checks it.
func (e *Elements) Moment() int64 {
	milliseconds := e.Number()
	if e.err == nil {
		e.err = Moment(milliseconds)
	}
	return milliseconds
}

// noKey is what PTTL answers when the key does not exist.
const noKey = -2

// TTL reads a reply of PTTL: whether the key exists, and how long it still lives, negative when without end.
func (e *Elements) TTL() (exists bool, ttl time.Duration) {
	milliseconds := e.Number()
	if e.err != nil || milliseconds == noKey {
		return false, 0
	}
	ttl, e.err = Time(milliseconds)
	return e.err == nil, ttl
}
