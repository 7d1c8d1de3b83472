package views

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// A holding is an owner with what is known of its client.
func holding(owner string, known, silent, hears bool) Holder {
	h := Holder{Owner: owner}
	h.Party = Party{ClientID: "c-" + owner, Known: known, Silent: silent, hears: hears}
	h.Lease = Seconds{Duration: time.Minute, Known: true}
	return h
}

func TestWhatIsProposedWorksForTheHoldersThatAreThere(t *testing.T) {
	go1, go2 := holding("go:1", true, false, true), holding("go:2", true, false, true)
	java, dead, foreign := holding("java:1", true, false, false), holding("dead:1", true, true, true), holding("foreign:1", false, false, false)
	for name, test := range map[string]struct {
		kind    redlatch.Kind
		holders []Holder
		command string
		says    string
	}{
		"one that hears":        {redlatch.KindLock, []Holder{go1}, "redlatch unlock x --ask 10s --reason TEXT", "To ask its program to give it back:"},
		"one that does not":     {redlatch.KindLock, []Holder{java}, "", "Its program cannot be asked by this command."},
		"one owner, two values": {redlatch.KindGroupLock, []Holder{go1, go1}, "redlatch unlock x --ask 10s --reason TEXT", "To ask its program to give it back:"},
		"all hear":              {redlatch.KindReadWriteLock, []Holder{go1, go2}, "redlatch unlock x --ask 10s --reason TEXT", "one of 2 owners. To ask all"},
		"some hear": {redlatch.KindReadWriteLock, []Holder{java, go1, go2}, "redlatch unlock x --owner go:1 --ask 10s --reason TEXT",
			"one of 3 owners, of whom 2 can be asked"},
		"permits": {redlatch.KindPermitSemaphore, []Holder{java, go1, go2}, "redlatch unlock x --owner go:1 --ask 10s --reason TEXT",
			"one of 3 permits. To ask a program to give one back:"},
		"a dead one among others": {redlatch.KindReadWriteLock, []Holder{go1, dead, go2}, "redlatch unlock x --owner dead:1 --reason TEXT",
			"Freed from this owner, it stays held by 2 others. To free it now:"},
		"a foreign one among others": {redlatch.KindReadWriteLock, []Holder{go1, foreign}, "redlatch unlock x --owner foreign:1 --reason TEXT",
			"Freed from this owner, it stays held by 1 other. If you know that it is dead:"},
		"a dead permit": {redlatch.KindPermitSemaphore, []Holder{go1, dead}, "redlatch unlock x --owner dead:1 --reason TEXT", "if nobody renews it. To free it now:"},
	} {
		v := &Inspect{Object: Object{Name: "x", kind: test.kind, Holders: test.holders}}
		next := v.next()
		require.Equal(t, test.command, next.Command, name)
		require.Contains(t, next.Text, test.says, name)
	}
}
