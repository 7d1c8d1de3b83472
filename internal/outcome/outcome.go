// Package outcome tells what is known about a command that failed: whether the server executed it, and whether asking
// again can help. Everything that decides to resend, to undo or to give up stands on this table.
package outcome

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// A Class is what an error says about the execution of a command.
type Class int

// The classes. Scripts check everything before their first write, so a script that the server refused changed nothing.
const (
	Done     Class = iota // no error: executed
	Hopeless              // not executed, and asking again will not help
	NotYet                // not executed: the server cannot take it now
	Full                  // not executed: no connection was to be had, which says nothing about who the primary is
	Moved                 // not executed: another node has the key, or this one is no primary any more
	NoScript              // not executed: the server does not know the script by its hash
	Unknown               // perhaps executed, perhaps it will be
)

// prefixes of the server's errors, after which the command was not executed. What is not listed is hopeless.
var prefixes = []struct {
	text  string
	class Class
}{
	{"NOSCRIPT", NoScript},
	{"MOVED", Moved},
	{"ASK", Moved},
	{"READONLY", Moved}, // a demoted primary: the successor is to be found
	{"CLUSTERDOWN", NotYet},
	{"TRYAGAIN", NotYet},
	{"LOADING", NotYet},
	{"MASTERDOWN", NotYet},
	{"NOREPLICAS", NotYet},
	{"REDLATCH-KEYS ", NotYet}, // the script is to be sent with further keys
	{"BUSY ", NotYet},          // a long script is running; BUSYGROUP and the like are other errors
	{"ERR max number of clients", Full},
}

// Unsent is the error of a command that never left this process, whatever Err looks like: the same words from a command
// that had left would say nothing about its execution.
type Unsent struct{ Err error }

func (u *Unsent) Error() string { return u.Err.Error() }

// Unwrap is the error itself.
func (u *Unsent) Unwrap() error { return u.Err }

// Of classifies the error of a command.
func Of(err error) Class {
	if err == nil {
		return Done
	}
	return ofError(err) // apart, so that success allocates nothing
}

func ofError(err error) Class {
	var (
		unsent *Unsent
		reply  redis.Error
		op     *net.OpError

		stranger *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &unsent):
		if class := Of(unsent.Err); class != Unknown {
			return class
		}
		return NotYet
	case errors.Is(err, redis.ErrClosed):
		return Hopeless
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return Full
	case errors.Is(err, redis.Nil): // no script answers nothing, so what has answered may have had it executed
		return Unknown
	case errors.As(err, &reply):
		return ofReply(reply.Error())
	case errors.As(err, &op) && op.Op == "dial":
		if errors.Is(op, syscall.EMFILE) || errors.Is(op, syscall.ENFILE) { // this process, or machine, has too many files open
			return Full
		}
		return NotYet
	case errors.As(err, &stranger): // found out before the connection is used
		return Hopeless
	default:
		// Time-outs, closed and reset connections, failed writes: the server may have had the whole command.
		return Unknown
	}
}

// ofReply looks at the server's own words. A server before 7.0 wraps the error of a command inside a script, with a
// dash before the code: "ERR Error running script (...): @user_script: 3: -READONLY You can't write ...".
func ofReply(text string) Class {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p.text) || strings.Contains(text, ": -"+p.text) {
			return p.class
		}
	}
	return Hopeless
}

// final are the refusals that no repetition changes, as parts of their texts.
var final = append([]string{"nknown command", "REDLATCH-"}, wrong...)

// wrong are those of them that blame the name, or what is kept under it.
var wrong = []string{"WRONGTYPE ", "CROSSSLOT", "not an integer", otherThing, "would overflow"}

// otherThing is in what the scripts say of a key that has the right type, and another content than they can work on.
const otherThing = "holds something that is not"

// said is what the server said in err, empty where that is no word of the server's.
func said(err error) string {
	if err == nil { // most of the time: spare it the allocation
		return ""
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return ""
	}
	return reply.Error()
}

// says tells whether the server said one of these texts.
func says(err error, texts []string) bool {
	reply := said(err)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(reply, text) })
}

// Final tells whether a hopeless error will stay. Others may pass: a server that is out of memory gets some, a user
// gets a permission, a proxy finds its server again.
func Final(err error) bool { return errors.Is(err, redis.ErrClosed) || says(err, final) }

// Wrong tells whether the server refused what will never be right, so that the program has to correct it. Unlike Final it
// does not count what another server, or another version of one, would take.
func Wrong(err error) bool { return says(err, wrong) }

// WrongType tells whether the server refused because a key is of another type than the script works on.
func WrongType(err error) bool { return strings.Contains(said(err), "WRONGTYPE ") }

// OtherKind tells whether the server refused because it keeps something else under the name, of another type or not.
func OtherKind(err error) bool { return says(err, []string{"WRONGTYPE ", otherThing}) }

// Advise adds to an error what to do about it, where the server's words leave a user alone with that.
func Advise(err error) error {
	reply := said(err)
	switch {
	case strings.Contains(reply, "use another name"): // as the scripts' own errors say
		return err
	case !WrongType(err) && !strings.Contains(reply, "value is not an integer"):
		return err
	}
	return fmt.Errorf("its key, or one that goes with it, holds something else; use another name, or remove what nobody needs: %w", err)
}

// OfKeys tells whether the server refused because of the keys that a script declares: some have left in a slot that moves, or
// the user has no right to one of them. With fewer keys the script may be executed. Nothing was.
func OfKeys(err error) bool { return Apart(err) || NoRight(err) }

// NoRight tells whether the server refused because the user has no right to a key that a script declares.
func NoRight(err error) bool {
	reply := said(err)
	return strings.HasPrefix(reply, "NOPERM") && strings.Contains(reply, " key")
}

// Forbidden tells whether the server refused because the user lacks a right, to a key or a command. A server before 7.0 says it in
// other words where a script met it.
func Forbidden(err error) bool {
	return says(err, []string{"NOPERM", "The user executing the script can't"})
}

// CrossSlot tells whether the server refused because the keys of a script lie in different slots.
func CrossSlot(err error) bool { return strings.Contains(said(err), "CROSSSLOT") }

// Apart tells whether the server refused because some keys of a script have moved to another server, and others have not.
func Apart(err error) bool { return strings.HasPrefix(said(err), "TRYAGAIN") }
