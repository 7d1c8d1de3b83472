package session

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/waiting"
	"github.com/redlatch/redlatch/internal/wakeup"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A LineKey names a line: waiters for the same key that cannot stand in for one another wait in different lines.
type LineKey struct {
	key   string
	kind  string
	place place
}

// LineFor is the line for a key of a kind: the primitive, and the side where it has two.
func LineFor(key, kind string) LineKey {
	return LineKey{key, kind, place(maphash.String(seed, key) + 31*maphash.String(seed, kind))}
}

// A Post stands for the holder of what a line is for. It is a part of the holder, so that holding costs nothing beside.
type Post struct {
	Since watchdog.Moment
	Gives bool // the holder will give it on to the line, so those who come for it do not ask
}

// A place is a line's key for the posts. Ten thousand holds are as many posts, in which the names, which the lines need
// for themselves, would take three times as much room. Two names in one place, out of 2^64, would be mistaken for each
// other at worst by somebody who comes for the one while the other is held: he asks a poll interval late.
type place uint64

var seed = maphash.MakeSeed()

// A Line is a waiting.Line with its subscriptions, for as long as somebody is in it or has what it is for.
type Line struct {
	*waiting.Line
	Seat Seat // where there is a row

	Place atomic.Int64 // in the row of a semaphore, as the latest message has said; 0: an attempt has made use of it

	users    int // guarded by Session.mu
	listener *wakeup.Listener
	row      *wakeup.Listener // nil: there is none
	counted  *wakeup.Listener // nil: it is not counted
	shut     atomic.Int64     // see Shut; a watchdog.Moment
	void     atomic.Int64     // see Current; a watchdog.Moment
}

// Ears say what a line listens to.
type Ears struct {
	Channel string // whose messages wake it; empty: it polls
	Row     string // of the processes that wait; empty: there is none

	// Passed is called with each message that says to whom the lock was passed. It must not block.
	Passed func(l *Line, message string)

	// Counted is a channel that tells the server who listens to the others; empty: none. It stands no longer than these.
	Counted string
	Ignored func(message string) bool // with Counted: does not wake a line that hears what comes for the row
}

// Waiting tells whether somebody of this process waits in line, and must not be overtaken.
func (s *Session) Waiting(key LineKey) bool {
	return s.Waiters(key) > 0
}

// Busy tells whether whoever wants key has to stand in line: others of this process wait for it, or one has it and will
// give it on. open is how long this process leaves it to others.
func (s *Session) Busy(key LineKey) (waited, held bool, open time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until, left := s.open[key.place]; left {
		if open = time.Until(until); open <= 0 {
			delete(s.open, key.place)
		}
	}
	return s.waitersLocked(key) > 0, s.givesLocked(key), open
}

func (s *Session) givesLocked(key LineKey) bool {
	p := s.posts[key.place]
	return p != nil && p.Gives
}

// HeldSince tells whether this process holds key, as far as its lines know, and since when.
func (s *Session) HeldSince(key LineKey) (since time.Time, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.posts[key.place]; p != nil {
		return p.Since.Time(), true
	}
	return since, false
}

// Found is what those of this process who wait for key have found out last, nil for nothing yet.
func (s *Session) Found(key LineKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[key]; l != nil {
		return l.Found()
	}
	if q := s.queues[key]; q != nil {
		return q.Door.Found()
	}
	return nil
}

// learnEvery is how often Behind looks. It is only for a call that comes while the first attempt of another is under way.
const learnEvery = 2 * time.Millisecond

// Behind is for a call that asks once while others of this process wait for key, whom it must not overtake: it is told
// what they have found out. If that is nothing yet it waits for it, for as long as the outage may last. nil without an
// error says that nobody waits any more, or that this process has got what key is for.
func (s *Session) Behind(ctx context.Context, key LineKey, outage time.Duration) (found, err error) {
	until := time.Now().Add(outage)
	for {
		if found := s.Found(key); found != nil {
			return found, nil
		}
		if _, held := s.HeldSince(key); held || !s.Waiting(key) {
			return nil, nil
		}
		if !time.Now().Before(until) {
			return nil, delivery.Unavailable(fmt.Errorf("those of this process who wait for it had no answer within %v", outage))
		}
		select {
		case <-time.After(learnEvery):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Open has this process leave key to others until then.
func (s *Session) Open(key LineKey, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[place]time.Time{}
	}
	now := time.Now()
	maps.DeleteFunc(s.open, func(_ place, until time.Time) bool { return !now.Before(until) })
	s.open[key.place] = until
}

// Waiters is how many of this process wait in line.
func (s *Session) Waiters(key LineKey) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waitersLocked(key)
}

// WaitersFor is how many of this process wait for a key of a kind, in the line of the kind and in those of parts of it,
// whose kind has a space and more behind it.
func (s *Session) WaitersFor(key, kind string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, l := range s.lines {
		if k.key == key && (k.kind == kind || strings.HasPrefix(k.kind, kind+" ")) {
			n += l.Len()
		}
	}
	return n
}

func (s *Session) waitersLocked(key LineKey) int {
	if l := s.lines[key]; l != nil {
		return l.Len()
	}
	if q := s.queues[key]; q != nil {
		return q.users
	}
	return 0
}

// Join returns the line, subscribed to channel (or polling, without one), whether somebody of this process has what it
// is for, and a function to call when the caller has left it.
func (s *Session) Join(key LineKey, channel string) (_ *waiting.Line, held bool, part func()) {
	l, held, leave := s.JoinRow(key, Ears{Channel: channel})
	return l.Line, held, func() { leave() }
}

// JoinRow is Join for a line that has a seat in a row. The function returns the sitter that has to be settled, if any.
func (s *Session) JoinRow(key LineKey, ears Ears) (_ *Line, held bool, part func() *Sitter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil {
		l = s.openLineLocked(ears)
		s.lines[key] = l
	}
	l.users++
	l.Seat.use()
	return l, s.givesLocked(key), func() *Sitter { return s.part(key, l) }
}

func (s *Session) openLineLocked(ears Ears) *Line {
	l := &Line{}
	if ears.Channel == "" || s.hubLocked() == nil {
		l.Line = waiting.NewLine(nil)
		return l
	}
	l.Line = waiting.NewLine(func() <-chan struct{} { return l.listener.Confirmed() })
	if ears.Row != "" { // first, so that it stands when the other one does
		l.row = s.hub.Hear(ears.Row+":"+s.ID, func(message string) { ears.Passed(l, message) })
	}
	l.void.Store(never)
	wake := func() {
		l.Void()
		l.Wake()
	}
	if ears.Counted == "" {
		l.listener = s.hub.Listen(ears.Channel, wake)
		return l
	}
	l.listener = s.hub.ListenAndHear(ears.Channel, func(message string) {
		if !ears.Ignored(message) || !l.HearsPasses() {
			wake()
		}
	}, wake)
	l.counted = s.hub.Hear(ears.Counted, func(string) {}) // last, so that the others stand when it does
	return l
}

// never is the void of a line of which it is not known yet that its messages arrive.
const never = math.MaxInt64

// Void has what the server has confirmed so far count as old news: a message says that the lock was given back or taken
// away, or messages may have been missed, or this process is about to take the lock away.
func (l *Line) Void() { l.void.Store(int64(watchdog.MomentOf(clock.Now()))) }

// Void is [Line.Void] for the line of a key, if there is one.
func (s *Session) Void(key LineKey) {
	s.mu.Lock()
	l := s.lines[key]
	s.mu.Unlock()
	if l != nil {
		l.Void()
	}
}

// Current tells whether what the server has answered to a command that was sent at news may still be relied on, as far as
// messages tell: they arrive, and none has come since. The first call after the subscription stands says no, for what was
// sent before it was not heard.
func (l *Line) Current(news time.Time) bool {
	if l.listener == nil || !closed(l.listener.Confirmed()) {
		return false
	}
	if l.void.CompareAndSwap(never, int64(watchdog.MomentOf(clock.Now()))-1) { // what is sent from now on is heard
		return false
	}
	return int64(watchdog.MomentOf(news)) > l.void.Load()
}

// HearsPasses tells whether a pass to this line would be heard of.
func (l *Line) HearsPasses() bool { return l.row != nil && closed(l.row.Confirmed()) }

// Shut notes since when what the line is for has been out of reach of others who need a while to ask, whoever had it and
// although it was free for a moment; the zero time: it is not.
func (l *Line) Shut(since time.Time) {
	if since.IsZero() {
		l.shut.Store(0)
		return
	}
	l.shut.Store(int64(watchdog.MomentOf(since)))
}

// ShutSince is what Shut has noted.
func (l *Line) ShutSince() time.Time {
	if since := l.shut.Load(); since != 0 {
		return watchdog.Moment(since).Time()
	}
	return time.Time{}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (s *Session) part(key LineKey, l *Line) (left *Sitter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.users--
	if l.users == 0 {
		left = l.Seat.leave()
	}
	s.closeLineLocked(key, l)
	return left
}

func (s *Session) closeLineLocked(key LineKey, l *Line) {
	if l.users > 0 || s.givesLocked(key) {
		return
	}
	delete(s.lines, key)
	l.Stop()
	for _, listener := range []*wakeup.Listener{l.counted, l.listener, l.row} {
		if listener != nil {
			listener.Close()
		}
	}
}

// Hold notes that holder has key from now on. Until Free, those of this process who come for it wait for what he does,
// and do not ask.
func (s *Session) Hold(key LineKey, holder *Post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[key.place] = holder
}

// Hears tells whether those in line are woken by a message that is sent from now on: it reaches them, or the loss of
// their subscription does.
func (s *Session) Hears(key LineKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	return l != nil && l.listener != nil && closed(l.listener.Confirmed())
}

// Free notes that holder has key no more, or not for certain, and that nobody of this process was given it by him. Those
// in line ask, unless they hear of it: woken twice they would ask twice. It does nothing when somebody else holds by now.
func (s *Session) Free(key LineKey, holder *Post, heard bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts[key.place] != holder {
		return
	}
	delete(s.posts, key.place)
	if l := s.lines[key]; l != nil && holder.Gives {
		if !heard {
			l.Wake()
		}
		s.closeLineLocked(key, l)
	}
}

// Claim claims the first in line, for holder to give key to; see [waiting.Line.Claim].
func (s *Session) Claim(key LineKey, holder *Post) (l *Line, claim waiting.Claim, ok bool) {
	s.mu.Lock()
	l = s.lines[key]
	known := s.posts[key.place] == holder && holder.Gives
	s.mu.Unlock()
	if l == nil || !known {
		return nil, claim, false
	}
	claim, ok = l.Claim()
	return l, claim, ok
}
