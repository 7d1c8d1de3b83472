package rwlock

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
)

// A Confirmation is what is known of a reader that has asked whether it still reads.
type Confirmation struct {
	Held   bool
	Others bool // somebody else waits for the lock, or that cannot be known
}

// ConfirmRead asks whether an owner still reads, lengthens its promise to lease if so, and asks whether
// others wait. most is the most holds that the owner ever had. listening is how many connections of this
// process listen to the channel.
func ConfirmRead(key, owner string, most int, lease time.Duration, wake scripts.Wake,
	listening int) scripts.Command[Confirmation] {
	n := namesOf(key)
	all := append(make([]string, 0, 8), n.lock, n.readers, n.strangers, n.writers)
	for i := 1; i <= most; i++ {
		all = append(all, keys.ReadMarker(n.tag, owner, i))
	}
	args := []any{owner, scripts.Milliseconds(lease), wake.Publish, wake.Channel, listening, most}
	all, args = n.queued(all, args, wake, Candidate{})
	return scripts.Integer(confirmRead, all, args, func(reply scripts.Reply) (Confirmation, error) {
		if reply.Int < 0 || reply.Int > 2 {
			return Confirmation{}, fmt.Errorf("answered %d where 0 to 2 was expected", reply.Int)
		}
		return Confirmation{Held: reply.Int > 0, Others: reply.Int == 2}, nil
	}).Needs(4 + most)
}

// TurnWrite is ReleaseRead and then AcquireWrite for field, a fresh writer's, in one. An execution that finds
// the writer holding already is a repetition. An attempt that is not Freed either found that the reader had
// lost the lock.
func TurnWrite(key, owner string, most int, wake scripts.Wake, field string,
	lease time.Duration) scripts.Command[scripts.Attempt] {
	var room [8]string
	args := []any{owner, wake.Publish, wake.Channel, messages[Read], field, scripts.Milliseconds(lease), most}
	n := namesOf(key)
	all, args := n.queued(n.withMarkers(room[:0], owner, most), args, wake, Candidate{})
	return scripts.Integer(turnWrite, append(all, n.moving), args, turned).Whole().Needs(3 + most).Finds(markersOf)
}

// TurnRead is ReleaseWrite and then AcquireRead for owner, a fresh one, in one. So many connections of this
// process listen to the channel. An execution that finds the reader holding already is a repetition.
func TurnRead(key, field string, wake scripts.Wake, listening int, owner string,
	lease time.Duration) scripts.Command[scripts.Attempt] {
	var room [8]string
	n := namesOf(key)
	args := []any{field, wake.Publish, wake.Channel, messages[Write], owner, scripts.Milliseconds(lease), listening}
	all, args := n.queued(n.withMarkers(room[:0], owner, 1), args, wake, Candidate{})
	return scripts.Integer(turnRead, all, args, turned).Needs(4)
}

func turned(reply scripts.Reply) (scripts.Attempt, error) {
	if reply.Int == -4 {
		return scripts.Attempt{}, nil
	}
	attempt, err := scripts.Taken(reply)
	attempt.Freed = !attempt.Held
	return attempt, err
}
