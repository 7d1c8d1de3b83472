package fleet

import (
	"fmt"

	"github.com/redlatch/redlatch"
)

// A KindError says that Redis has something else under a name than was asked for. It matches
// [redlatch.ErrInvalid].
type KindError struct {
	Key   string        // the name as Redis has it
	Want  redlatch.Kind // Detect, if anything would have done
	Found string        // what is there, in words: "a read-write lock", "a list of another program"

	// Ambiguous: what is there may be of several kinds, and only the caller can say of which.
	Ambiguous bool
}

// Error says what Redis has under the name, and what was asked for.
func (e *KindError) Error() string {
	if e.Ambiguous {
		return fmt.Sprintf("redlatch: %q is %s; say which kind it is", e.Key, e.Found)
	}
	if e.Want == Detect {
		return fmt.Sprintf("redlatch: %q is %s", e.Key, e.Found)
	}
	return fmt.Sprintf("redlatch: %q is %s, not a %s", e.Key, e.Found, e.Want.Noun())
}

// Is makes it match redlatch.ErrInvalid.
func (e *KindError) Is(target error) bool { return target == redlatch.ErrInvalid }

// An Unreadable is something that was passed over, because it cannot be read or makes no sense.
type Unreadable struct {
	Key    string // in Redis
	Field  string // of the key, empty where it is about the whole
	Detail string // what is wrong, in a clause
}

// String is the key and why it was passed over.
func (u Unreadable) String() string {
	if u.Field == "" {
		return fmt.Sprintf("%q: %s", u.Key, u.Detail)
	}
	return fmt.Sprintf("%q, field %q: %s", u.Key, short(u.Field), u.Detail)
}

// short is a text as a message may have it: a hostile one may have megabytes.
func short(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
