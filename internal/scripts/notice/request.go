package notice

import (
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
)

// A request is a notice for an owner who still holds: it says who asks for what is held, and why. It stands
// beside the notices of what was freed by force, so that only those can ask who could free it.

// Ask leaves a request for an owner of what has this key, and answers when. It takes the place of an earlier
// one.
func Ask(key, owner, who, why string) scripts.Command[time.Time] {
	return Leave(key, "ask:"+owner, who, why)
}

// Hear is the request for an owner, nil if there is none. Who has made it can find out that it was read.
func Hear(key, owner string) scripts.Command[*Notice] {
	return scripts.Array(hear, []string{keys.Forced(key)}, []any{owner}, one)
}

// Heard tells whether the request that was made then was read, or a later one.
func Heard(key, owner string, made time.Time) scripts.Command[bool] {
	return scripts.Integer(heard, []string{keys.Forced(key)}, []any{owner, made.UnixMilli()}, scripts.Bool)
}

// Close removes the request that was made then, unless there is a later one.
func Close(key, owner string, made time.Time) scripts.Command[bool] {
	return scripts.Integer(closing, []string{keys.Forced(key)}, []any{owner, made.UnixMilli()}, scripts.Bool)
}
