package cohort

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A shareWorld is a server that counts the holds of one identity, and a process whose holders share it. A command is sent,
// executed and answered in three steps, in between which everything else may happen. The server may lose the lock at any time, and
// the process learns of it later.
type shareWorld struct {
	share   Share
	holders []string // those that have not left; a re-entry has a name of its own
	lost    bool     // the process knows
	named   int      // holders there have been
	told    map[string]int

	field int32 // what the server counts; 0: it has no field
	gone  bool  // the server has lost it

	flight   string // the command under way that changes the count, of which there is one at a time; empty: none
	executed bool
	outcome  bool
	want     int32
	wanted   bool // the one who asked first still waits
	releases int
}

// steps are what may happen, in this order of letters.
const steps = "aejrlcvxdkw"

// step does what a letter stands for, and tells whether that was possible.
func (w *shareWorld) step(t *testing.T, c byte) bool {
	switch c {
	case 'a': // the first one asks
		if w.named > 0 {
			return false
		}
		w.named, w.wanted = 1, true
		return w.send("ask", 1)
	case 'e': // the command under way is executed
		if w.flight == "" || w.executed {
			return false
		}
		w.execute()
	case 'd': // its answer comes
		if !w.executed {
			return false
		}
		w.answered(t)
	case 'k': // its answer is lost, and the process asks again until it knows
		if w.flight == "" {
			return false
		}
		w.execute()
		w.execute()
		w.answered(t)
	case 'w': // the one who asked first goes away before the answer
		if !w.wanted {
			return false
		}
		w.wanted = false
	case 'j':
		if w.named == 0 || w.named > 4 {
			return false
		}
		joined := !w.lost && w.share.Join()
		require.False(t, joined && len(w.holders) == 0, "joined what nobody holds")
		if !joined {
			return false
		}
		w.enter("j")
	case 'r': // the first holder re-enters
		if len(w.holders) == 0 || w.lost || w.named > 4 {
			return false
		}
		return w.send("reenter", w.share.Counted(int32(len(w.holders)))+1)
	case 'l': // the oldest holder leaves
		return w.leave(t)
	case 'c':
		w.share.Close()
	case 'v': // others are to have it
		w.share.Drain()
	case 'x': // somebody takes the lock away
		if w.gone || w.field == 0 {
			return false
		}
		w.gone, w.field = true, 0
	}
	return true
}

func (w *shareWorld) send(command string, want int32) bool {
	if w.flight != "" {
		return false
	}
	w.flight, w.executed, w.want = command, false, want
	return true
}

func (w *shareWorld) execute() {
	w.executed = true
	switch {
	case w.flight == "ask":
		if !w.gone {
			w.field = 1
		}
		w.outcome = !w.gone
	case w.flight == "release":
		w.outcome, w.field = w.outcome || w.field > 0, 0
	default: // never creates
		if w.field > 0 {
			w.field = w.want
		}
		w.outcome = w.field > 0
	}
}

func (w *shareWorld) answered(t *testing.T) {
	flight, held := w.flight, w.outcome
	w.flight, w.executed, w.outcome = "", false, false
	switch {
	case flight == "release":
	case !held:
		w.lose(t)
	case flight == "ask" && !w.wanted: // nobody wants it: it is given back, and was never open
		w.release(t)
	case flight == "ask":
		w.wanted = false
		w.share.Granted()
		w.enter("f")
	case flight == "reenter" && len(w.holders) > 0:
		w.enter("r")
	}
}

func (w *shareWorld) enter(kind string) {
	w.named++
	w.holders = append(w.holders, fmt.Sprint(kind, w.named))
}

// lose tells each holder, once.
func (w *shareWorld) lose(t *testing.T) {
	if w.lost {
		return
	}
	w.lost = true
	w.share.Close()
	for _, h := range w.holders {
		w.told[h]++
		require.Equal(t, 1, w.told[h], "%s was told twice", h)
	}
}

func (w *shareWorld) leave(t *testing.T) bool {
	switch {
	case len(w.holders) == 0:
		return false
	case w.share.Leave():
		w.holders = w.holders[1:]
		require.NotEmpty(t, w.holders, "the last holder left without a command")
		return true
	case w.flight != "": // it waits for its turn
		return false
	}
	w.holders = w.holders[1:]
	if len(w.holders) > 0 {
		return w.send("recount", w.share.Counted(int32(len(w.holders))))
	}
	w.share.Last()
	w.release(t)
	return true
}

func (w *shareWorld) release(t *testing.T) {
	w.releases++
	require.Equal(t, 1, w.releases, "released twice")
	require.Empty(t, w.holders)
	w.send("release", 0)
}

// check holds in every state.
func (w *shareWorld) check(t *testing.T) {
	counted := w.share.Counted(int32(len(w.holders)))
	require.True(t, len(w.holders) == 0 || counted > 0, "holders, and Redis counts none")
	if w.flight == "" && w.field > 0 {
		require.Equal(t, counted, w.field, "Redis counts otherwise")
		require.NotEmpty(t, w.holders, "Redis has a field that nobody holds")
	}
	if w.releases > 0 || w.lost {
		require.False(t, w.share.Open() || w.share.Drains())
	}
}

// Every order of up to nine steps of three holders, two re-entries and two losses keeps what Redis counts and
// what the process has in step: nobody joins what is closed, lost or being released, and whoever leaves last,
// and nobody else, releases.
func TestNoOrderBreaksAShare(t *testing.T) {
	seen, met := map[string]bool{}, map[byte]int{}
	var walk func(path []byte, depth int)
	walk = func(path []byte, depth int) {
		if depth == 0 {
			return
		}
		for _, c := range []byte(steps) {
			w := &shareWorld{told: map[string]int{}}
			next := append(slices.Clone(path), c)
			possible := true
			for _, s := range next {
				possible = w.step(t, s)
			}
			if !possible {
				continue
			}
			met[c]++
			w.check(t)
			if t.Failed() {
				t.Fatalf("after %s", next)
			}
			state := fmt.Sprintf("%+v %d", w, depth)
			if !seen[state] {
				seen[state] = true
				walk(next, depth-1)
			}
		}
	}
	walk(nil, 9)
	require.Len(t, met, len(steps), "not every step was possible: %v", strings.Join(strings.Split(steps, ""), " "))
}
