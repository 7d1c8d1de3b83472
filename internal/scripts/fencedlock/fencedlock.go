// Package fencedlock holds what a fenced lock has beside the scripts of the plain layout: the acquisitions, which issue
// a token, and the guard, which refuses old ones.
//
// An acquisition that is executed twice must answer the same token. No memory is needed for that: the token is issued
// together with the hold, and as long as the owner holds nobody else is issued one.
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

var (
	issue = scripts.Prelude(folder, "issue.lua")
	own   = scripts.Prelude(folder, "own.lua")
	admit = scripts.Prelude(folder, "admit.lua")

	acquire = scripts.Load(folder, "fencedlock/acquire", issue, own)
	hand    = scripts.Load(folder, "fencedlock/handover", issue, own)
	inRow   = row.Load(issue, own)
	reenter = scripts.Load(folder, "fencedlock/reenter")
	last    = scripts.Load(folder, "fencedlock/last")
	claim   = scripts.Load(folder, "fencedlock/claim", admit)
	write   = scripts.Load(folder, "fencedlock/write", lane.Prelude, admit)
)

// Acquire takes the lock for a fresh owner if it is free, with one hold, the lease as TTL, and the next token. An
// execution that finds the owner holding already is a repetition: it answers the token of the first.
func Acquire(key, tokenKey, owner string, lease time.Duration) scripts.Command[scripts.Attempt] {
	return scripts.Array(acquire, []string{key, tokenKey}, []any{owner, scripts.Milliseconds(lease)}, attempt)
}

// HandOver ends all holds of one owner and has another, fresh one hold in its place, as Acquire does it. It answers that
// the lock is not held when neither of them held it; then no token is issued.
func HandOver(key, tokenKey, from, to string, lease time.Duration) scripts.Command[scripts.Attempt] {
	return scripts.Array(hand, []string{key, tokenKey}, []any{from, to, scripts.Milliseconds(lease)}, attempt)
}

// Enlist is Acquire for an owner who waits in the row; see [row.Scripts.Enlist].
func Enlist(key, tokenKey, owner string, lease time.Duration, line string, patience time.Duration) scripts.Command[row.Sitting] {
	return inRow.Enlist([]string{key, tokenKey}, owner, lease, line, patience)
}

// Pass is the release of a lock to the first in the row, who is issued a token; see [row.Scripts.Pass].
func Pass(key, tokenKey, owner string, wake scripts.Wake, turn row.Turn) scripts.Command[row.Release] {
	return inRow.Pass([]string{key, tokenKey}, owner, wake, turn)
}

// Reenter sets the number of holds of an owner, lengthens the TTL to lease and issues a token above newest, the
// greatest that the owner knows of. It answers that the lock is not held, and creates nothing, when the owner has lost
// it.
func Reenter(key, tokenKey, owner string, holds int, lease time.Duration, newest int64) scripts.Command[scripts.Attempt] {
	args := []any{owner, holds, scripts.Milliseconds(lease), newest + 1}
	return scripts.Array(reenter, []string{key, tokenKey}, args, attempt)
}

func attempt(reply scripts.Reply) (a scripts.Attempt, err error) {
	var numbers [2]int64
	if err := scripts.Numbers(reply, numbers[:]); err != nil {
		return a, err
	}
	if a.Held, err = scripts.Bool(scripts.Reply{Int: numbers[0]}); a.Held {
		a.Token = numbers[1]
	} else if err == nil {
		a.Remaining, err = scripts.Time(numbers[1])
	}
	return a, err
}

// Last reads the token issued last, or the greatest that a guard has seen; 0 when there is none.
func Last(tokenKey string) scripts.Command[int64] {
	return scripts.Integer(last, []string{tokenKey}, nil, scripts.Int64)
}

// Claim has a guard refuse tokens below token from now on. It answers 0, or the greatest token seen when that is above.
func Claim(guardKey string, token int64) scripts.Command[int64] {
	return scripts.Integer(claim, []string{guardKey}, []any{token}, scripts.Int64)
}

// Write executes a command on key once, if the guard has seen no token above token. It answers 0, or the greatest token
// seen when that is above; then nothing was executed.
func Write(guardKey string, call lane.Call, token int64, command, key string, args []any) scripts.Command[int64] {
	own := call.Args(strconv.FormatInt(token, 10), command)
	return scripts.Foreign(write, append(call.Keys(guardKey), key), own, args, scripts.Int64)
}
