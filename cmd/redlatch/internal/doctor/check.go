package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Level is how bad a finding is.
type Level string

// The levels. Error: locks do not work, or are lost without a fault. Warn: they work until something else goes wrong.
// Info: worth knowing, nothing to repair.
const (
	Error Level = "error"
	Warn  Level = "warn"
	Info  Level = "info"
)

// A Check is one thing that can be wrong.
type Check struct {
	ID    string
	Level Level  // of the finding
	Means string // what is wrong, as a sentence
	Do    string // what to do, as a sentence
	Page  string // where to read more: a page of docs/ and a heading

	look  func(context.Context, *node) answer    // of one master
	whole func(context.Context, *patient) answer // of all together, where look is nil
}

// Checks are all checks, in the order in which they are shown.
var Checks = slices.Concat(
	reachChecks, serverChecks, trialChecks, rightChecks, messageChecks, clockChecks, memoryChecks, persistenceChecks,
	connectionChecks, replicationChecks, clusterChecks, sentinelChecks, lockChecks, clientChecks,
)

// slow is how long a check may take that is not told otherwise.
const slow = 3 * time.Second

type state int

const (
	unknown state = iota // first, so that no answer at all is one
	found
	fine
	beside
)

// An answer is what a check says about one server.
type answer struct {
	state  state
	detail string
}

func isFine() answer                            { return answer{state: fine} }
func isBeside(why string) answer                { return answer{state: beside, detail: why} }
func isFound(format string, args ...any) answer { return answer{found, fmt.Sprintf(format, args...)} }
func isUnknown(err error) answer                { return answer{unknown, reason(err)} }

// foundIf is found with the detail, or fine.
func foundIf(wrong bool, format string, args ...any) answer {
	if wrong {
		return isFound(format, args...)
	}
	return isFine()
}

// A need is a right that is missing.
type need struct{ command string }

func (n need) Error() string { return "the user may not use " + n.command }

// needing says which command it was that the user may not use.
func needing(command string, err error) error {
	if err != nil && (redis.IsPermissionError(err) || isUnknownCommand(err)) {
		return need{command}
	}
	return err
}

// isUnknownCommand tells that the server does not have a command: it is renamed, or a proxy holds it back.
func isUnknownCommand(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unknown command")
}

// reason is an error for people, in one line.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "there was no answer in time"
	}
	return oneLine(err.Error())
}

// oneLine is text of a server without what could harm a terminal.
func oneLine(text string) string {
	const most = 300
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(text), "?"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
