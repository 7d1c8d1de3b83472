package row

import (
	"strconv"
	"strings"
	"time"
)

// A Message says to the process whose seat holds now that it does.
type Message struct {
	Owner string
	At    int64 // the server's clock in milliseconds
	Token int64
	Count int           // passes one after another, without the lock's being free in between, this one included
	Since time.Duration // from the first of them
}

// Passes is what a release says of passes in its message: how many with this one, and since when.
func Passes(count int, since time.Duration) string {
	return strconv.Itoa(count) + " " + strconv.FormatInt(since.Milliseconds(), 10)
}

// Read reads a message. ok is false for one that nobody of this library has sent.
func Read(message string) (m Message, ok bool) {
	fields := strings.Split(message, " ")
	if len(fields) != 5 {
		return m, false
	}
	var numbers [4]int64
	for i, field := range fields[1:] {
		var err error
		if numbers[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return m, false
		}
	}
	since := time.Duration(numbers[3]) * time.Millisecond
	return Message{Owner: fields[0], At: numbers[0], Token: numbers[1], Count: int(numbers[2]), Since: since}, true
}
