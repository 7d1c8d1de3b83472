package entry

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

// mostAsked is of how many identities of one client can be asked at the same time.
const mostAsked = 50

// An Asking is what became of the word that somebody asks.
type Asking struct {
	Until   int64 // in milliseconds since 1970, the name of it for Unask; 0: it was not left
	Crowded bool  // because of too many identities of the client is asked
	Foreign bool  // because its place has a key of another type; else because the client has no entry
}

// Ask has the client find out, at its next report within wait, that somebody asks for what it holds by an
// identity.
func Ask(n Names, identity string, wait time.Duration) scripts.Command[Asking] {
	args := []any{identity, scripts.Milliseconds(wait), mostAsked}
	return scripts.Integer(ask, []string{n.Entry, n.Asked}, args, func(reply scripts.Reply) (Asking, error) {
		if reply.Int < -2 {
			return Asking{}, fmt.Errorf("answered %d where a time was expected", reply.Int)
		}
		return Asking{Until: max(reply.Int, 0), Crowded: reply.Int == -1, Foreign: reply.Int == -2}, nil
	})
}

// Unask takes it back, unless somebody else has asked since.
func Unask(n Names, identity string, until int64) scripts.Command[bool] {
	return scripts.Integer(unask, []string{n.Asked}, []any{identity, until}, scripts.Bool)
}
