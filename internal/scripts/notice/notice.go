// Package notice has the scripts of what is left for the victim where something is taken away by force: who
// did it, and why.
package notice

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
)

//go:embed *.lua
var folder embed.FS

// Gone is a prelude of scripts that renew: a Lua function that answers the notice for an owner that does not
// hold any more.
var Gone = scripts.Prelude(folder, "gone.lua")

var (
	leave    = scripts.Load(folder, "notice/leave", scripts.Clock)
	withdraw = scripts.Load(folder, "notice/withdraw")
	read     = scripts.Load(folder, "notice/read", Gone)
	hear     = scripts.Load(folder, "notice/hear")
	heard    = scripts.Load(folder, "notice/heard")
	closing  = scripts.Load(folder, "notice/close")
)

const (
	kept     = time.Hour
	mostKept = 100 // of one name
)

// A Notice says who took something away by force, or asks for it, when by the server's clock, and why. Its
// texts are short, and one line of what can be printed.
type Notice struct {
	At  time.Time
	Who string
	Why string
}

// Leave leaves a notice for an owner of what has this key, and answers when. It is kept for an hour.
func Leave(key, owner, who, why string) scripts.Command[time.Time] {
	args := []any{owner, plain(who, mostWho), plain(why, mostWhy), scripts.Milliseconds(kept), mostKept}
	return scripts.Integer(leave, []string{keys.Forced(key)}, args, func(reply scripts.Reply) (time.Time, error) {
		if reply.Int <= 0 {
			return time.Time{}, fmt.Errorf("answered %d where a time was expected", reply.Int)
		}
		return time.UnixMilli(reply.Int), nil
	})
}

// Withdraw takes it back.
func Withdraw(key, owner string) scripts.Command[bool] {
	return scripts.Integer(withdraw, []string{keys.Forced(key)}, []any{owner}, scripts.Bool)
}

// MostRead is how many owners one script reads the notices for.
const MostRead = 100

// An Of is whose notice is read: that of an owner of what has this key.
type Of struct{ Key, Owner string }

// Read reads the notices for owners of one cluster slot, MostRead at most. What cannot be read, or makes no
// sense, is as if there were none.
func Read(all []Of) scripts.Command[[]*Notice] {
	names, owners := make([]string, len(all)), make([]any, len(all))
	for i, of := range all {
		names[i], owners[i] = keys.Forced(of.Key), of.Owner
	}
	return scripts.Array(read, names, owners, func(reply scripts.Reply) ([]*Notice, error) {
		e := reply.Elements()
		notices := make([]*Notice, len(all))
		for i := range notices {
			notices[i], _ = Parse(e.Text())
		}
		return notices, e.End()
	})
}

// one is a notice, or none.
func one(reply scripts.Reply) (*Notice, error) {
	e := reply.Elements()
	if !e.More() {
		return nil, nil
	}
	text := e.Text()
	if err := e.End(); err != nil {
		return nil, err
	}
	return Parse(text)
}

// Parse reads a notice as Redis keeps it.
func Parse(text string) (*Notice, error) {
	parts := strings.SplitN(text, "\n", 3)
	if len(parts) == 3 {
		if at, err := strconv.ParseInt(parts[0], 10, 64); err == nil {
			return &Notice{time.UnixMilli(at), plain(parts[1], mostWho), plain(parts[2], mostWhy)}, nil
		}
	}
	return nil, fmt.Errorf("answered %q where a notice was expected", text)
}

// String is the notice in one line: "ada@ops-1 at 03:12:07: the import hangs".
func (n *Notice) String() string {
	return fmt.Sprintf("%s at %s: %s", n.Who, n.At.Format(time.TimeOnly), n.Why)
}
