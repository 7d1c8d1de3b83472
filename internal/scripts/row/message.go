package row

import (
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

// A Message says to the process whose candidate holds now that it does, or that it is to look.
type Message struct {
	Owner string
	Looks bool  // the owner does not hold: it is its turn to ask, and nothing else is said
	At    int64 // the server's clock in milliseconds
	Token int64
	Shut  time.Duration // for which it has gone round, without its being free for longer than a moment
}

// Read reads a message. ok is false for one that nobody of this library has sent.
func Read(message string) (m Message, ok bool) {
	fields := strings.Split(message, " ")
	if len(fields) == 1 {
		return Message{Owner: message, Looks: true}, strings.Contains(message, ":")
	}
	if len(fields) != 4 {
		return m, false
	}
	var numbers [3]int64
	for i, field := range fields[1:] {
		var err error
		if numbers[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return m, false
		}
	}
	shut, err := scripts.Time(numbers[2])
	return Message{Owner: fields[0], At: numbers[0], Token: numbers[1], Shut: shut},
		err == nil && scripts.Moment(numbers[0]) == nil
}
