package countdownlatch

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

// A State is the latch and its record at a moment.
type State struct {
	Exists bool
	Count  int64         // what is still to be counted
	TTL    time.Duration // negative without one
	Now    int64         // by the server's clock, milliseconds since 1970
	Record map[string]string
}

// A Fate is what became of a latch.
type Fate int

// The fates.
const (
	Counting Fate = iota // it is not open
	Counted
	Expired // it was set and is gone, and was not counted down
	Deleted
	NotSet // nobody knows of a count
)

// Seen is what a waiter has seen of a latch that was not open. A waiter that has not seen one yet has the
// zero value.
type Seen struct {
	Round string // which time it was set, Foreign when another program has set it; empty: nothing was seen
	Epoch string // of the record; empty: there was none
	Until int64  // when its TTL runs out by the server's clock, 0 without one
}

// Foreign is the round of a latch that this library has not set, or that has lost its record.
const Foreign = "0"

// slack is how far the moment may be off at which a TTL is over, reckoned from what was left of it.
const slack = 5

// Open tells whether there is nothing to wait for. Another program may have stored a count that is not above
// 0.
func (s State) Open() bool { return s.Count <= 0 }

// Seen is what a waiter sees that finds the latch closed.
func (s State) Seen() Seen {
	seen := Seen{Round: s.round(), Epoch: s.Record["epoch"]}
	if s.TTL >= 0 {
		seen.Until = s.Now + s.TTL.Milliseconds()
	}
	return seen
}

// round is that of the latch, if there is one.
func (s State) round() string {
	if s.Record["round"] == "" || s.Record["end"] != "" {
		return Foreign
	}
	return s.Record["epoch"] + ":" + s.Record["round"]
}

// For is what became of the latch that a waiter has seen; of the last one, if it has seen none.
//
// A latch that was set by this library, and is gone without a word in the record, was counted down by another
// program, unless its TTL is over: Redisson takes part in that and keeps no record.
func (s State) For(seen Seen) Fate {
	if seen.Round == "" {
		return s.last()
	}
	switch {
	case !s.Open() && (s.Record["round"] == "" || seen.Round == s.round()):
		return Counting
	case seen.Round == Foreign:
		return s.foreign(seen)
	}
	epoch, number, _ := strings.Cut(seen.Round, ":")
	if epoch != s.Record["epoch"] { // the server has lost the record, and with it whatever became of the latch
		return Expired
	}
	if number == s.Record["round"] {
		return s.ended(seen.Until)
	}
	if from, _ := strconv.ParseInt(s.Record["from"], 10, 64); from > 0 {
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || n < from {
			return Expired // or deleted, or counted down: that is forgotten
		}
	}
	return s.past(number, Counted)
}

// last is for a waiter that has seen nothing.
func (s State) last() Fate {
	switch {
	case !s.Open():
		return Counting
	case s.Exists:
		return Counted
	case s.Record["foreign"] != "":
		return fate(s.Record["foreign"])
	case s.Record["round"] != "":
		return s.ended(s.moment("until"))
	}
	return NotSet
}

// ended is the fate of the last round. until is when its TTL runs out.
func (s State) ended(until int64) Fate {
	if end := s.Record["end"]; end != "" {
		return fate(end)
	}
	return s.over(until)
}

// foreign is the fate of a latch that another program has set.
func (s State) foreign(seen Seen) Fate {
	if seen.Epoch != "" && seen.Epoch != s.Record["epoch"] { // the server has lost the record, as above
		return Expired
	}
	if end := s.Record["foreign"]; end != "" {
		return fate(end)
	}
	return s.past(Foreign, s.over(seen.Until))
}

// over is the fate of a latch that went without a word.
func (s State) over(until int64) Fate {
	if until > 0 && s.Now >= until-slack {
		return Expired
	}
	return Counted
}

// past is the fate of an earlier round, other unless the record knows better.
func (s State) past(number string, other Fate) Fate {
	for _, one := range strings.Fields(s.Record["past"]) {
		switch one {
		case number + "d":
			return Deleted
		case number + "x":
			return Expired
		}
	}
	return other
}

func (s State) moment(field string) int64 {
	moment, _ := strconv.ParseInt(s.Record[field], 10, 64)
	return moment
}

func fate(word string) Fate {
	if word == "deleted" {
		return Deleted
	}
	return Counted
}

func stateOf(reply scripts.Reply) (s State, err error) {
	e := reply.Elements()
	count := e.Text()
	exists, left := e.TTL()
	s.TTL = -1
	if exists && left >= 0 {
		s.TTL = left
	}
	s.Now = e.Moment()
	record := e.Array()
	s.Record = record.Pairs()
	err = errors.Join(e.End(), record.End())
	if s.Exists = count != ""; s.Exists && err == nil {
		s.Count, err = scripts.Number(count)
	}
	return s, err
}
