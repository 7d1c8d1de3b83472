// Package outcome tells what is known about a command that failed: whether the server executed it, and
// whether asking again can help. Everything that decides to resend, to undo or to give up stands on this
// table.
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

// The classes.
const (
	Done     Class = iota // no error: executed
	Hopeless              // not executed, and asking again will not help
	NotYet                // not executed: the server cannot take it now
	Full                  // not executed: no connection was to be had, which says nothing about who the primary is
	Moved                 // not executed: another node has the key, or this one is no primary any more
	NoScript              // not executed: the server does not know the script by its hash
	Cut                   // the script has ended on its way: it may have changed something, and does not go on
	Unknown               // perhaps executed, perhaps it will be
)

// A code is how an error begins that Redis gives.
type code struct {
	text  string
	class Class
}

// before are the codes that Redis gives before it executes a command or script, with the function of its
// source in which it does (7.0). Nothing else says that a command was not executed: a proxy has words of its
// own, also for a command of which it has lost the reply ("upstream failure" of Envoy, "ERR Operation timed
// out" of twemproxy).
var before = []code{
	{"NOSCRIPT", NoScript},     // evalGenericCommand
	{"MOVED ", Moved},          // clusterRedirectClient, as all of the cluster's
	{"ASK ", Moved},            //
	{"TRYAGAIN", NotYet},       //
	{"CLUSTERDOWN", NotYet},    //
	{"CROSSSLOT", Hopeless},    //
	{"READONLY", Moved},        // processCommand, as those that follow; a demoted primary: the successor is to be found
	{"LOADING", NotYet},        //
	{"MASTERDOWN", NotYet},     //
	{"NOREPLICAS", NotYet},     //
	{"BUSY ", NotYet},          // a long script is running; BUSYGROUP and the like are other errors
	{"MISCONF", Hopeless},      //
	{"OOM ", Hopeless},         //
	{"NOAUTH", Hopeless},       //
	{"NOPERM", Hopeless},       //
	{"EXECABORT", Hopeless},    //
	{"ERR unknown ", Hopeless}, // a command or subcommand
	{"ERR Unknown ", Hopeless}, // the same, before 7.0
	{"ERR wrong number of", Hopeless},
	{"ERR Protocol error", Hopeless}, // processMultibulkBuffer; more words than a client without a password may send
	{"ERR max number of", Full},      // acceptCommonHandler
	{"DENIED", Hopeless},             // the same, in protected mode
	{"WRONGPASS", Hopeless},          // of the greeting of a connection, behind which nothing was sent
	{"NOPROTO", Hopeless},            //
	{"ERR Error compiling", Hopeless},
	{"WRONGTYPE ", Hopeless}, // of a script of ours, which says so before it changes anything
	{"REDLATCH-KEYS ", NotYet},
	{"REDLATCH-", Hopeless},
}

// inside are the codes with which Redis refuses the first command of a script that writes, as none behind it:
// they speak of the state of the server, which stays as it is while a script runs
// (scriptVerifyWriteCommandAllow, scriptVerifyOOM). With them are those that our scripts meet before they
// write. What is not listed may have come behind a change.
var inside = []code{
	{"READONLY", Moved}, {"NOREPLICAS", NotYet}, {"MASTERDOWN", NotYet}, {"MISCONF", Hopeless}, {"OOM ", Hopeless},
	{"WRONGTYPE ", Hopeless},
}

// Unsent is the error of a command that never left this process, whatever Err looks like: the same words from
// a command that had left would say nothing about its execution.
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
	case errors.Is(err, redis.ErrClosed), isRedirected(err):
		return Hopeless
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return Full
	case errors.Is(err, redis.Nil): // no script answers nothing, so what has answered may have had it executed
		return Unknown
	case errors.As(err, &reply):
		class := ofReply(reply.Error())
		if class == Unknown && ofGreeting(err, reply) {
			return Hopeless
		}
		return class
	case errors.As(err, &op) && op.Op == "dial":
		// this process, or machine, has too many files open
		if errors.Is(op, syscall.EMFILE) || errors.Is(op, syscall.ENFILE) {
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

// ofGreeting tells whether the client library met an error reply when it prepared a connection for a command,
// which stayed here.
func ofGreeting(err error, reply redis.Error) bool {
	words, ok := strings.CutSuffix(err.Error(), reply.Error())
	return ok && (strings.Contains(words, "failed to initialize connection options: ") ||
		strings.Contains(words, "failed to authenticate: "))
}

// notPermitted is what a server before 7.2 says in a script to a user without a right.
const notPermitted = "The user executing the script can't"

// ofReply looks at the words of an error reply.
func ofReply(text string) Class {
	table := before
	if _, words, ok := strings.Cut(text, unchanged); ok {
		for _, c := range inside {
			if strings.Contains(words, c.text) {
				return c.class
			}
		}
		return Hopeless
	}
	if isInside(text) {
		// A server before 7.0 wraps the error of a command inside a script, with a dash before the code: "ERR Error
		// running script (...): @user_script: 3: -READONLY You can't write ...".
		for _, c := range inside {
			if strings.HasPrefix(text, c.text) || strings.Contains(text, ": -"+c.text) {
				return c.class
			}
		}
		table = nil
	}
	for _, c := range table {
		if strings.HasPrefix(text, c.text) {
			return c.class
		}
	}
	switch ours := func(part string) bool { return strings.Contains(text, part) }; {
	case slices.ContainsFunc(wrong, ours):
		return Hopeless
	case table == nil:
		return Cut
	}
	return Unknown
}

// unchanged begins, in an error of a script of ours, the words with which it was refused before it changed
// anything, or after which it has taken back what it had changed.
const unchanged = "nothing was changed: "

// isInside tells whether the words are those of a script that was under way.
func isInside(text string) bool {
	return strings.Contains(text, "@user_script:") || strings.Contains(text, notPermitted)
}

// final are the refusals that no repetition changes, as parts of their texts.
var final = append([]string{"nknown command", "REDLATCH-"}, wrong...)

// wrong are those of them that blame the name, or what is kept under it.
var wrong = []string{"WRONGTYPE ", "CROSSSLOT", "not an integer", otherThing, "would overflow"}

// otherThing is in what the scripts say of a key that has the right type, and another content than they can
// work on.
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

// Final tells whether a hopeless error will stay. Others may pass: a server that is out of memory gets some,
// a user gets a permission, a proxy finds its server again.
func Final(err error) bool { return errors.Is(err, redis.ErrClosed) || says(err, final) }

// Passing tells whether the server refused because it takes no writes for now: its memory is full, or it
// cannot save. Programs and operators do nothing about a lock then. What needs less, as a release, may be
// executed all the same.
func Passing(err error) bool {
	reply := said(err)
	return strings.HasPrefix(reply, "OOM ") || strings.HasPrefix(reply, "MISCONF ") ||
		strings.Contains(reply, ": -OOM ") || strings.Contains(reply, ": -MISCONF ") ||
		strings.Contains(reply, unchanged+"OOM ") || strings.Contains(reply, unchanged+"MISCONF ")
}

// Wrong tells whether the server refused what will never be right, so that the program has to correct it.
// Unlike Final it does not count what another server, or another version of one, would take.
func Wrong(err error) bool { return says(err, wrong) || isRedirected(err) }

// WrongType tells whether the server refused because a key is of another type than the script works on.
func WrongType(err error) bool { return strings.Contains(said(err), "WRONGTYPE ") }

// OtherKind tells whether the server refused because it keeps something else under the name, of another type
// or not.
func OtherKind(err error) bool { return says(err, []string{"WRONGTYPE ", otherThing}) }

// Advise adds to an error what to do about it, where the server's words leave a user alone with that.
func Advise(err error) error {
	reply := said(err)
	switch {
	case strings.Contains(reply, "use another name"): // as the scripts' own errors say
		return err
	case strings.Contains(reply, "READONLY "):
		return fmt.Errorf("the server is a replica, which takes no writes: %w", err)
	case strings.Contains(reply, notPermitted): // the server does not say which command that was
		return fmt.Errorf("its user lacks a right to a command; ACL LOG on the server names it, and docs/operating.md "+
			"has all: %w", err)
	case !WrongType(err) && !strings.Contains(reply, "value is not an integer"):
		return err
	}
	return fmt.Errorf("its key, or one that goes with it, holds something else; use another name, or remove what "+
		"nobody needs: %w", err)
}

// OfKeys tells whether the server refused because of the keys that a script declares: some have left in a
// slot that moves, or the user has no right to one of them. With fewer keys the script may be executed.
// Nothing was.
func OfKeys(err error) bool { return Apart(err) || NoRight(err) }

// NoRight tells whether the server refused because the user has no right to a key that a script declares.
func NoRight(err error) bool {
	reply := said(err)
	return strings.HasPrefix(reply, "NOPERM") && strings.Contains(reply, " key")
}

// Forbidden tells whether the server refused because the user lacks a right, to a key or a command. A server
// before 7.0 says it in other words where a script met it.
func Forbidden(err error) bool {
	return says(err, []string{"NOPERM", notPermitted})
}

// CrossSlot tells whether the server refused because the keys of a script lie in different slots.
func CrossSlot(err error) bool { return strings.Contains(said(err), "CROSSSLOT") }

// Apart tells whether the server refused because some keys of a script have moved to another server, and
// others have not.
func Apart(err error) bool { return strings.HasPrefix(said(err), "TRYAGAIN") }
