package wakeup

import (
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/raise"
)

const (
	// batchLimit is how many channels one command names: few commands for ten thousand channels, none of them so
	// long that the server's other clients notice.
	batchLimit = 1000

	// maxPatience bounds how long opening a connection may take. go-redis allows 5 s for dialling and 5 s for
	// the greeting by default, but a user may have set no limit at all.
	maxPatience = 15 * time.Second

	// steady is how long a connection must have stood for its loss to count as the first one.
	steady = 2 * time.Second

	// refusedGap is how long a channel that the server refused rests.
	refusedGap = 10 * time.Second
)

var (
	errSilent  = errors.New("no answer to a ping")
	errOpening = errors.New("opening the connection takes too long")
)

// A shard is a master (the server, where channels are not sharded) and what is to be subscribed there. All of
// it is guarded by the hub's mutex.
type shard struct {
	hub      *Hub
	master   any
	via      Client
	channels map[*channel]struct{}

	want      []*channel   // to be subscribed; may have left or been sent meanwhile
	halves    [][]*channel // of a refused command, each to go out by itself
	drop      []*channel   // to be unsubscribed
	refused   []*channel   // rest until refusedAt
	refusedAt time.Time

	conn      *conn // nil between connections
	retry     *backoff.ExponentialBackOff
	notBefore time.Time     // no connection before that
	lost      bool          // sharded: ask again where the channels live before the next connection
	patience  time.Duration // how long the next opening may take
	warned    bool          // the loss is in the log
}

// checkLocked notices a failed or silent connection.
func (s *shard) checkLocked(t *step) {
	if s.conn == nil {
		return
	}
	if len(s.channels) == 0 {
		s.conn.endLocked()
		s.conn, s.drop = nil, nil
		return
	}
	err := s.conn.err
	if err == nil {
		err = s.watchLocked(t)
	}
	if err != nil {
		s.loseLocked(t, err)
	}
}

// watchLocked is the watchdog. Any answer counts, so a busy connection is never pinged. Answers are counted
// as well as timed: a pong may come within the clock's tick.
func (s *shard) watchLocked(t *step) error {
	l := s.conn
	if !l.opened {
		limit := l.began.Add(s.patience)
		if t.now.Before(limit) {
			t.at(limit)
			return nil
		}
		s.patience = min(2*s.patience, maxPatience)
		return errOpening
	}
	heard := l.heard.Load()
	if !l.pinged.IsZero() && heard == l.heardAtPing {
		limit := l.pinged.Add(s.hub.cfg.Pong)
		if !t.now.Before(limit) {
			return errSilent
		}
		t.at(limit)
		t.at(t.now.Add(s.hub.cfg.Idle)) // an answer does not rouse the manager, and the next ping must not be late
		return nil
	}
	l.pinged, l.pingDue = time.Time{}, false
	due := l.began.Add(time.Duration(l.heardAfter.Load()) + s.hub.cfg.Idle)
	if t.now.Before(due) {
		t.at(due)
		return nil
	}
	l.pinged, l.pingDue, l.heardAtPing = t.now, true, heard
	t.at(t.now.Add(min(s.hub.cfg.Idle, s.hub.cfg.Pong)))
	return nil
}

// loseLocked gives the connection up and plans the next one; without err it was suspicion, and the listeners
// are told when the next one stands or fails.
func (s *shard) loseLocked(t *step, err error) {
	h, l := s.hub, s.conn
	s.conn = nil
	l.endLocked()
	s.drop, s.halves, s.refused = nil, nil, nil
	s.want = s.want[:0]
	for ch := range s.channels {
		s.want = append(s.want, ch) // of which batchLocked leaves out the forgotten
		if ch.lose(err == nil) {
			t.wakes = ch.appendWakes(t.wakes)
		}
		if len(ch.listeners) == 0 { // it lingered to keep a subscription, and that is lost
			h.forgetLocked(ch)
		}
	}
	if l.opened && t.now.Sub(l.openedAt) >= steady {
		s.retry.Reset()
	}
	s.notBefore = t.now.Add(s.retry.NextBackOff())
	t.at(s.notBefore)
	s.lost = h.cfg.Shard != nil
	h.reloadLocked()
	if err != nil {
		if !s.warned {
			s.warned = true
			if raised := (*raise.Panic)(nil); !errors.As(err, &raised) { // hookFailed has logged that
				t.lost = append(t.lost, err)
			}
		}
		h.sawLocked(t, err)
	}
}

// advanceLocked opens a connection where one is due and gives the writer its next work.
func (s *shard) advanceLocked(t *step) {
	h := s.hub
	if len(s.channels) == 0 {
		if s.conn == nil && !h.finding { // a search that runs may end here, and the back-off must survive it
			delete(h.shards, s.master)
		}
		return
	}
	if s.conn == nil {
		if s.lost || t.now.Before(s.notBefore) {
			t.at(s.notBefore)
			return
		}
		s.openLocked(t)
	}
	if len(s.refused) > 0 {
		if t.now.Before(s.refusedAt) {
			t.at(s.refusedAt)
		} else {
			s.want = append(s.want, s.refused...)
			s.refused = nil
		}
	}
	if l := s.conn; !l.busy {
		if batch := s.batchLocked(); len(batch) > 0 {
			l.busy = true
			l.work <- batch // the writer is idle, so there is room
		}
	}
}

// batchLocked collects what the writer has to send: leaving first, for a name that is left and listened to
// again must end subscribed.
func (s *shard) batchLocked() (batch []*command) {
	batch = s.appendLocked(batch, leave, s.drop)
	s.drop = nil
	s.want = wanted(s.want)
	batch = s.appendLocked(batch, enter, s.want)
	s.want = nil
	for _, half := range s.halves {
		batch = s.appendLocked(batch, enter, wanted(half))
	}
	s.halves = nil
	if s.conn.pingDue {
		s.conn.pingDue = false
		batch = append(batch, &command{kind: ping})
	}
	return batch
}

// wanted marks as sent, and returns, those of the channels that are still to be subscribed.
func wanted(channels []*channel) []*channel {
	kept := channels[:0]
	for _, ch := range channels {
		if !ch.gone && !ch.sent {
			ch.sent = true
			kept = append(kept, ch)
		}
	}
	return kept
}

// appendLocked adds commands for the channels, of one slot each where channels are sharded.
func (s *shard) appendLocked(batch []*command, k kind, channels []*channel) []*command {
	if s.hub.cfg.Shard == nil {
		return appendCut(batch, k, channels)
	}
	bySlot := make(map[int][]*channel)
	for _, ch := range channels {
		slot := keys.Slot(ch.name)
		bySlot[slot] = append(bySlot[slot], ch)
	}
	for _, group := range bySlot {
		batch = appendCut(batch, k, group)
	}
	return batch
}

func appendCut(batch []*command, k kind, channels []*channel) []*command {
	for some := range slices.Chunk(channels, batchLimit) {
		batch = append(batch, &command{kind: k, channels: some})
	}
	return batch
}

// refuseLocked takes back a subscription that the server refused. It does not say which of several channels
// it meant, so the command is halved until one is left, which rests for a while; the others stand. It reports
// whether such a one was found that has not been refused before.
func (s *shard) refuseLocked(channels []*channel) (news bool) {
	for _, ch := range channels {
		ch.sent = false
	}
	if n := len(channels); n > 1 {
		s.halves = append(s.halves, channels[:n/2:n/2], channels[n/2:])
		return false
	}
	if len(s.refused) == 0 {
		s.refusedAt = time.Now().Add(refusedGap)
	}
	s.refused = append(s.refused, channels...)
	news = !channels[0].refused
	channels[0].refused = true
	return news
}
