package cohort

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A world is a server with one lock, and a process with a candidacy. Commands are late, lost or executed twice. The server
// does what the scripts do, in short: it keeps the holder and the process queue.
type world struct {
	*testing.T
	dice *rand.Rand
	mint func() string

	holder   string // empty: the lock is free
	queue    []string
	passes   map[string]time.Time
	messages []message // on their way
	ghosts   []func()  // commands that are executed late, or never

	l       *Cohort
	join    func() (part func() *Candidate)
	users   []*user
	ask     *flight
	release *flight
	owned   map[string]bool // the owners of which the process was told that they hold, also in the past
	holds   []string        // those of them that it has not released
	settles []string
	doubts  []string // to be settled once more when the ghosts have had their time
	met     map[string]int
}

// A message says that the lock was handed to an owner.
type message struct {
	owner string
	at    int64
}

// A user is a call: it waits, then leaves the queue, then parts with the cohort.
type user struct {
	cancel context.CancelFunc // nil: it has left the queue
	part   func() *Candidate
}

// A flight is a command of which the process waits for the answer.
type flight struct {
	p        *Candidate // nil: a release that enqueues no candidate
	giver    string
	sent     time.Time
	executed bool
	held     bool // of an ask
	freed    bool // of a release
	at       int64
}

func (w *world) chance(percent int) bool { return w.dice.IntN(100) < percent }

func (w *world) clock() int64 { return time.Now().UnixMilli() - 1_000_000 }

// enlist and pass are the scripts.

func (w *world) enlist(owner string) (held bool, at int64) {
	if w.holder == "" {
		w.holder = owner
		w.rise(owner)
	}
	if w.holder == owner {
		return true, 0
	}
	if w.chance(10) { // the process queue cannot be had
		w.met["no queue"]++
		return false, 0
	}
	if !slices.Contains(w.queue, owner) {
		w.queue = append(w.queue, owner)
	}
	return false, w.clock()
}

func (w *world) pass(giver, candidate string) (freed bool, at int64) {
	if w.holder != giver {
		w.rise(giver)
		return false, 0
	}
	w.holder = ""
	w.rise(candidate)
	if len(w.queue) > 0 && w.chance(80) {
		at = w.clock()
		w.holder, w.queue = w.queue[0], w.queue[1:]
		w.passes[w.holder] = time.Now()
		if mine(w.holder) && w.chance(80) {
			w.messages = append(w.messages, message{w.holder, at})
		}
	}
	if candidate != "" {
		w.queue = append(w.queue, candidate)
	}
	return true, at
}

func (w *world) rise(owner string) {
	w.queue = slices.DeleteFunc(w.queue, func(o string) bool { return o == owner })
}

func mine(owner string) bool { return strings.HasPrefix(owner, "me:") }

// settle settles a candidate that is over.
func (w *world) settle(p *Candidate) {
	require.False(w, w.owned[p.Owner], "%s holds", p.Owner)
	w.settles = append(w.settles, p.Owner)
	if w.l.Candidacy.InDoubt(p) {
		w.doubts = append(w.doubts, p.Owner)
	}
	w.met["settled"]++
}

// own notes that the process was told that an owner holds.
func (w *world) own(owner, how string) {
	require.False(w, w.owned[owner], "%s comes twice", owner)
	w.owned[owner] = true
	w.holds = append(w.holds, owner)
	w.met[how]++
}

// step does one of the things that may happen now.
func (w *world) step() {
	switch w.dice.IntN(12) {
	case 0:
		if len(w.users) < 3 {
			w.users = append(w.users, &user{wait(w.l, w.chance(70)), w.join()})
		}
	case 1:
		w.leave()
	case 2, 3:
		w.asking()
	case 4, 5:
		w.releasing()
	case 6, 7:
		if len(w.messages) > 0 {
			w.hear(w.dice.IntN(len(w.messages)))
		}
	case 8: // other processes
		switch {
		case w.holder == "":
			w.holder = "other:1"
		case !mine(w.holder):
			w.pass(w.holder, "")
		case w.chance(30) && w.owned[w.holder]:
			w.holder = "" // by force
		case !slices.Contains(w.queue, "other:2") && w.holder != "other:2":
			w.queue = append(w.queue, "other:2")
		}
	case 9:
		if len(w.settles) > 0 {
			w.pass(w.settles[0], "")
			w.settles = w.settles[1:]
		}
	case 10:
		if len(w.ghosts) > 0 && w.chance(30) {
			i := w.dice.IntN(len(w.ghosts))
			w.ghosts[i]()
			w.ghosts = slices.Delete(w.ghosts, i, i+1)
		}
	case 11:
		time.Sleep(time.Duration(w.dice.IntN(3000)) * time.Microsecond)
	}
	synctest.Wait()
}

// leave has a user leave the queue, or part with the cohort after that. The last one does not part during an ask.
func (w *world) leave() {
	if len(w.users) == 0 || w.ask != nil && len(w.users) == 1 {
		return
	}
	i := w.dice.IntN(len(w.users))
	u := w.users[i]
	if u.cancel != nil {
		u.cancel()
		u.cancel = nil
		return
	}
	w.users = slices.Delete(w.users, i, i+1)
	if left := u.part(); left != nil {
		w.settle(left)
	}
}

// asking begins an ask, or executes it, or ends it.
func (w *world) asking() {
	f := w.ask
	switch {
	case f == nil && len(w.users) > 0:
		w.ask = &flight{p: w.l.Candidacy.Ask(w.mint), sent: time.Now()}
	case f == nil:
	case !f.executed && w.chance(80):
		f.held, f.at = w.enlist(f.p.Owner)
		f.executed = true
	default:
		w.ask = nil
		switch {
		case f.executed && f.held && w.chance(80):
			w.l.Candidacy.Won(f.p)
			w.own(f.p.Owner, "won")
		case f.executed && !f.held && w.chance(80):
			if w.l.Candidacy.Refused(f.p, f.sent, f.at) {
				w.settle(f.p)
			}
		case !f.executed && w.chance(50):
			if w.l.Candidacy.Refused(f.p, time.Time{}, 0) {
				w.settle(f.p)
			}
		default:
			w.l.Candidacy.Failed(f.p)
			w.ghosts = append(w.ghosts, func() { w.enlist(f.p.Owner) })
			w.settle(f.p)
			w.met["ask failed"]++
		}
	}
}

// releasing is the same for a release.
func (w *world) releasing() {
	f := w.release
	switch {
	case f == nil && len(w.holds) > 0:
		f = &flight{giver: w.holds[0]}
		w.holds = w.holds[1:]
		if w.chance(80) {
			if f.p = w.l.Candidacy.Enqueue(w.mint); f.p == nil {
				require.Empty(w, w.users)
				w.met["no candidate to enqueue"]++
			}
		}
		w.release = f
	case f == nil:
	case !f.executed && w.chance(80):
		f.freed, f.at = w.pass(f.giver, f.candidate())
		f.executed = true
	default:
		w.release = nil
		known := w.chance(80)
		switch {
		case f.p == nil:
		case known:
			if w.l.Candidacy.Enqueued(f.p, f.executed && f.freed, f.at) {
				w.settle(f.p)
			}
			w.met["enqueued"]++
		default:
			if w.l.Candidacy.Unknown(f.p) {
				w.settle(f.p)
			}
			w.met["enqueuing unknown"]++
		}
		if !known {
			w.ghosts = append(w.ghosts, func() { w.pass(f.giver, f.candidate()) })
		}
		w.doubts = append(w.doubts, f.giver) // the process goes on with a release that failed
		w.settles = append(w.settles, f.giver)
	}
}

func (f *flight) candidate() string {
	if f.p == nil {
		return ""
	}
	return f.p.Owner
}

func (w *world) hear(i int) {
	m := w.messages[i]
	w.messages = slices.Delete(w.messages, i, i+1)
	gift, claim, since := w.l.HandedTo(m.owner, m.at)
	switch gift {
	case Ignored:
		w.met["ignored"]++
		return
	case Claimed:
		if w.chance(50) {
			claim.Give("the lock", far)
		} else {
			claim.Refuse()
		}
	}
	require.False(w, since.After(w.passes[m.owner]), "trust begins %v after the hand-off", since.Sub(w.passes[m.owner]))
	w.own(m.owner, map[HandOff]string{Claimed: "claimed", Declined: "declined"}[gift])
}

// finish lets everything come to its end: all commands are answered, all users leave, and what had to be settled is settled.
func (w *world) finish() {
	for w.ask != nil || len(w.users) > 0 || w.release != nil || len(w.holds) > 0 || len(w.messages) > 0 {
		switch w.dice.IntN(4) {
		case 0:
			if w.ask != nil {
				w.asking()
			}
		case 1:
			w.releasing()
		case 2:
			w.leave()
		case 3:
			if len(w.messages) > 0 {
				w.hear(0)
			}
		}
		synctest.Wait()
	}
	for _, ghost := range w.ghosts {
		ghost()
	}
	for _, owner := range append(w.settles, w.doubts...) {
		w.pass(owner, "")
	}
	for !mine(w.holder) && w.holder != "" { // the other processes go on
		w.pass(w.holder, "")
	}
	require.False(w, mine(w.holder), "%s holds for ever", w.holder)
	require.False(w, slices.ContainsFunc(w.queue, mine), "a candidate is in the queue for ever: %v", w.queue)
}

// Asks, releases and messages begin, are executed, late or twice, and end in random order. No owner is given the lock twice,
// no owner that holds is settled, trust begins before the hand-off, and when all users have left no candidate is in the queue
// and none holds.
func TestEveryCandidateHoldsOnceOrIsSettled(t *testing.T) {
	seeds := redistest.Rounds(500, 3000)
	met := map[string]int{}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			s, key := bare(), KeyFor("lock", "")
			s.Hold(key, &Holder{Gives: true}) // keeps the cohort when no call uses it
			w := &world{T: t, dice: rand.New(rand.NewPCG(uint64(seed), 1)), mint: minter(),
				passes: map[string]time.Time{}, owned: map[string]bool{}, met: met}
			w.join = func() func() *Candidate {
				l, _, part := s.Join(key, deaf)
				w.l = l
				return part
			}
			w.users = []*user{{nil, w.join()}}
			defer func() {
				for _, u := range w.users { // of a test that failed
					if u.cancel != nil {
						u.cancel()
					}
				}
				w.l.Stop()
			}()
			for range 120 {
				w.step()
			}
			w.finish()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("met: %v", met)
	for _, rare := range []string{"won", "claimed", "declined", "settled", "ignored", "enqueued", "ask failed",
		"enqueuing unknown", "no queue", "no candidate to enqueue"} {
		require.NotZero(t, met[rare], rare)
	}
}
