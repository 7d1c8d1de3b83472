// Package fencedlock holds what a fenced lock has beside the scripts of the plain layout: the acquisitions,
// which issue a token, and the guard, which refuses old ones.
//
// An acquisition that is executed twice must answer the same token. No memory is needed for that: the token
// is issued together with the hold, and as long as the owner holds nobody else is issued one. A hand-over
// issues several, which its process gives out one by one while it hands the lock on without a command.
package fencedlock

import (
	"embed"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

//go:embed *.lua
var folder embed.FS

// below is a prelude that compares two positive integers in decimals: whether the first is less than the
// second. The longer text is the greater number. They are compared as text because the numbers of Lua are exact
// only to 2^53.
const below = "local function below(a, b)\n  return #a < #b or #a == #b and a < b\nend"

var (
	issue   = scripts.Prelude(folder, "issue.lua")
	raise   = scripts.Prelude(folder, "raise.lua")
	own     = scripts.Prelude(folder, "own.lua")
	admit   = scripts.Prelude(folder, "admit.lua")
	reenter = scripts.Load(folder, "fencedlock/reenter", below)
	claim   = scripts.Load(folder, "fencedlock/claim", below, admit)
	write   = scripts.Load(folder, "fencedlock/write", lane.Prelude, below, admit)
)

// An Issuer is the scripts that issue tokens in one way.
type Issuer struct {
	acquire *scripts.Script
	inRow   row.Scripts
}

// Counted counts the tokens, as Redisson does. Clocked counts them too, but none is below the time in
// microseconds.
var (
	Counted = newIssuer(issue, own)
	Clocked = newIssuer(below, issue, scripts.Prelude(folder, "clocked.lua"), own)
)

func newIssuer(token ...string) *Issuer {
	return &Issuer{
		acquire: scripts.Load(folder, "fencedlock/acquire", append([]string{row.Take}, token...)...),
		inRow:   row.Load([]string{raise}, token...),
	}
}

// Acquire takes the lock for a fresh owner if it is free, with one hold, the lease as TTL, and the next
// token. An execution that finds the owner holding already is a repetition: it answers the token of the
// first.
func (i *Issuer) Acquire(key, tokenKey, owner string, lease time.Duration) scripts.Command[scripts.Attempt] {
	return scripts.Array(i.acquire, []string{key, tokenKey}, []any{owner, scripts.Milliseconds(lease)}, attempt)
}

// HandOver hands the lock on with tokens of its own; see [row.Scripts.HandOver].
func (i *Issuer) HandOver(key, tokenKey, from, to string, lease time.Duration, last,
	tokens int64) scripts.Command[scripts.Attempt] {
	return i.inRow.HandOver([]string{key, tokenKey}, from, to, lease, last, tokens)
}

// Enlist is Acquire for an owner who waits in the row; see [row.Scripts.Enlist].
func (i *Issuer) Enlist(key, tokenKey, owner string, lease time.Duration, line []string, patience time.Duration,
	looks bool) scripts.Command[row.Answer] {
	return i.inRow.Enlist([]string{key, tokenKey}, owner, lease, line, patience, looks)
}

// Pass is the release of a lock to the first in the row, who is issued a token; see [row.Scripts.Pass].
func (i *Issuer) Pass(key, tokenKey, owner string, wake scripts.Wake, turn row.Turn) scripts.Command[row.Release] {
	return i.inRow.Pass([]string{key, tokenKey}, owner, wake, turn)
}

// Reenter sets the number of holds of an owner and lengthens the TTL to lease. It issues a token where none
// up to least has been issued: the last that the owner has, or the next if it has given that out. It answers
// the token issued last, or that the lock is not held, and creates nothing, when the owner has lost it.
func Reenter(key, tokenKey, owner string, holds int, lease time.Duration,
	least int64) scripts.Command[scripts.Attempt] {
	args := []any{owner, holds, scripts.Milliseconds(lease), least}
	return scripts.Array(reenter, []string{key, tokenKey}, args, attempt)
}

func attempt(reply scripts.Reply) (a scripts.Attempt, err error) {
	e := reply.Elements()
	if a.Held = e.Bool(); a.Held {
		a.Token = e.Number()
	} else {
		a.Remaining = e.Time()
	}
	return a, e.End()
}

// A Guarded is the two keys of a guard: the greatest token that it has seen, and the first owner that has
// shown that.
type Guarded struct{ Seen, Owner string }

// Claim has a guard refuse tokens below token from now on. It answers 0, or the greatest token seen when that
// is above, or is token and another owner's. An empty owner is not told apart from others.
func Claim(guard Guarded, token int64, owner string) scripts.Command[int64] {
	return scripts.Integer(claim, []string{guard.Seen, guard.Owner}, []any{token, owner}, scripts.Int64)
}

// Write executes a command on key once, if Claim would not refuse token and owner. It answers 0, or the
// greatest token seen; then nothing was executed.
func Write(guard Guarded, call lane.Call, token int64, owner, command, key string, args []any) scripts.Command[int64] {
	own := call.Args(strconv.FormatInt(token, 10), owner, command)
	return scripts.Foreign(write, append(call.Keys(guard.Seen), guard.Owner, key), own, args, scripts.Int64)
}
