package statetest

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts"
)

// Send executes a command the way the library does, by its hash, then with its source, and with fewer keys where it may not have all or more where it asks for them, and returns what it read.
func Send[R any](ctx context.Context, client redis.UniversalClient, command scripts.Command[R]) (R, error) {
	cmd := command.Cmder(ctx, false)
	err := client.Process(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = command.Cmder(ctx, true)
		err = client.Process(ctx, cmd)
	}
	if outcome.OfKeys(err) {
		if narrow, ok := command.Narrow(outcome.Apart(err)); ok {
			return Send(ctx, client, narrow)
		}
	}
	if wide, ok := command.Widen(err); ok {
		return Send(ctx, client, wide)
	}
	if err != nil {
		var none R
		return none, err
	}
	return command.Read(cmd)
}

// Alive is a renewal of which no notice is looked at.
func Alive(renew scripts.Command[scripts.Kept]) scripts.Command[[]bool] {
	return scripts.Map(renew, func(kept scripts.Kept) []bool { return kept.Alive })
}

// A Call is a command and what it must answer, the first time and the second.
type Call struct {
	execute   func(ctx context.Context, client *redis.Client) (check, error)
	lengthens bool
}

// A check says what is wrong with a reply, given when it was made and which execution it was; empty when nothing is.
type check func(within window, repeated, halved bool) string

// Answers is a call that answers want, however often it is executed.
func Answers[R any](command scripts.Command[R], want R) Call {
	return AnswersThen(command, want, want)
}

// AnswersThen is a call that answers otherwise when it is executed again; what it does to the state it does once.
func AnswersThen[R any](command scripts.Command[R], first, second R) Call {
	return Call{execute: func(ctx context.Context, client *redis.Client) (check, error) {
		got, err := Send(ctx, client, command)
		return func(within window, repeated, halved bool) string {
			want := first
			if repeated {
				want = second
			}
			if halved {
				want = halfReply(want)
			}
			if sameReply(reflect.ValueOf(want), reflect.ValueOf(got), within) {
				return ""
			}
			return fmt.Sprintf("answered %+v, should answer %+v", got, want)
		}, err
	}}
}

// Fails is a call that is refused with an error in which text occurs.
func Fails[R any](command scripts.Command[R], text string) Call {
	return Call{execute: func(ctx context.Context, client *redis.Client) (check, error) {
		got, err := Send(ctx, client, command)
		return func(window, bool, bool) string {
			switch {
			case err == nil:
				return fmt.Sprintf("answered %+v, should fail with %q", got, text)
			case !strings.Contains(err.Error(), text):
				return fmt.Sprintf("failed with %q, should fail with %q", err, text)
			}
			return ""
		}, nil
	}}
}

// Lengthens marks a call whose repetition brings TTLs up to their full length again, as renewals do.
func (c Call) Lengthens() Call {
	c.lengthens = true
	return c
}
