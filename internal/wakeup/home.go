package wakeup

import (
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/raise"
)

const (
	// batchLimit is how many channels one command names: few commands for ten thousand channels, none of them so long
	// that the server's other clients notice.
	batchLimit = 1000

	// maxPatience bounds how long opening a connection may take. go-redis allows 5 s for dialling and 5 s for the
	// greeting by default, but a user may have set no limit at all.
	maxPatience = 15 * time.Second

	// steady is how long a link must have stood for its loss to count as the first one.
	steady = 2 * time.Second

	// refusedGap is how long a channel that the server refused rests.
	refusedGap = 10 * time.Second
)

var (
	errSilent  = errors.New("no answer to a ping")
	errOpening = errors.New("opening the connection takes too long")
)

// A home is a master (the server, where channels are not sharded) and what is to be subscribed there. All of it is guarded
// by the hub's mutex.
type home struct {
	hub      *Hub
	master   any
	via      Client
	channels map[*channel]struct{}

	want      []*channel   // to be subscribed; may have left or been sent meanwhile
	halves    [][]*channel // of a refused command, each to go out by itself
	drop      []*channel   // to be unsubscribed
	refused   []*channel   // rest until refusedAt
	refusedAt time.Time

	link      *link // nil between connections
	retry     *backoff.ExponentialBackOff
	notBefore time.Time     // no link before that
	lost      bool          // sharded: ask again where the channels live before the next link
	patience  time.Duration // how long the next opening may take
	warned    bool          // the loss is in the log
}

// checkLocked notices a failed or silent link.
func (m *home) checkLocked(t *turn) {
	if m.link == nil {
		return
	}
	if len(m.channels) == 0 {
		m.link.endLocked()
		m.link, m.drop = nil, nil
		return
	}
	err := m.link.err
	if err == nil {
		err = m.watchLocked(t)
	}
	if err != nil {
		m.loseLocked(t, err)
	}
}

// watchLocked is the watchdog. Any answer counts, so a busy connection is never pinged. Answers are counted as well as
// timed: a pong may come within the clock's tick.
func (m *home) watchLocked(t *turn) error {
	l := m.link
	if !l.opened {
		limit := l.began.Add(m.patience)
		if t.now.Before(limit) {
			t.at(limit)
			return nil
		}
		m.patience = min(2*m.patience, maxPatience)
		return errOpening
	}
	heard := l.heard.Load()
	if !l.pinged.IsZero() && heard == l.heardAtPing {
		limit := l.pinged.Add(m.hub.cfg.Pong)
		if !t.now.Before(limit) {
			return errSilent
		}
		t.at(earlier(limit, t.now.Add(m.hub.cfg.Idle))) // an answer does not rouse the manager, and the next ping must not be late
		return nil
	}
	l.pinged, l.pingDue = time.Time{}, false
	due := l.began.Add(time.Duration(l.heardAfter.Load()) + m.hub.cfg.Idle)
	if t.now.Before(due) {
		t.at(due)
		return nil
	}
	l.pinged, l.pingDue, l.heardAtPing = t.now, true, heard
	t.at(t.now.Add(min(m.hub.cfg.Idle, m.hub.cfg.Pong)))
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// loseLocked gives the link up and plans the next one; without err it was suspicion, and the listeners are told when the
// next one stands or fails.
func (m *home) loseLocked(t *turn, err error) {
	h, l := m.hub, m.link
	m.link = nil
	l.endLocked()
	m.drop, m.halves, m.refused = nil, nil, nil
	m.want = m.want[:0]
	for ch := range m.channels {
		m.want = append(m.want, ch) // of which batchLocked leaves out the forgotten
		if ch.lose(err == nil) {
			t.wakes = ch.appendWakes(t.wakes)
		}
		if len(ch.listeners) == 0 { // it lingered to keep a subscription, and that is lost
			h.forgetLocked(ch)
		}
	}
	if l.opened && t.now.Sub(l.openedAt) >= steady {
		m.retry.Reset()
	}
	m.notBefore = t.now.Add(m.retry.NextBackOff())
	t.at(m.notBefore)
	m.lost = h.cfg.Shard != nil
	h.reloadLocked()
	if err != nil {
		if !m.warned {
			m.warned = true
			if raised := (*raise.Panic)(nil); !errors.As(err, &raised) { // hookFailed has logged that
				t.logs = append(t.logs, func(log *slog.Logger) {
					log.Warn("redlatch: pub/sub connection lost, waiters poll until it is back", "error", err)
				})
			}
		}
		h.sawLocked(t, err)
	}
}

// advanceLocked opens a link where one is due and gives the writer its next work.
func (m *home) advanceLocked(t *turn) {
	h := m.hub
	if len(m.channels) == 0 {
		if m.link == nil && !h.finding { // a search that runs may end here, and the back-off must survive it
			delete(h.homes, m.master)
		}
		return
	}
	if m.link == nil {
		if m.lost || t.now.Before(m.notBefore) {
			t.at(m.notBefore)
			return
		}
		m.openLocked(t)
	}
	if len(m.refused) > 0 {
		if t.now.Before(m.refusedAt) {
			t.at(m.refusedAt)
		} else {
			m.want = append(m.want, m.refused...)
			m.refused = nil
		}
	}
	if l := m.link; !l.busy {
		if batch := m.batchLocked(); len(batch) > 0 {
			l.busy = true
			l.work <- batch // the writer is idle, so there is room
		}
	}
}

// batchLocked collects what the writer has to send: leaving first, for a name that is left and listened to again must end
// subscribed.
func (m *home) batchLocked() (batch []*command) {
	batch = m.appendLocked(batch, leave, m.drop)
	m.drop = nil
	m.want = wanted(m.want)
	batch = m.appendLocked(batch, enter, m.want)
	m.want = nil
	for _, half := range m.halves {
		batch = m.appendLocked(batch, enter, wanted(half))
	}
	m.halves = nil
	if m.link.pingDue {
		m.link.pingDue = false
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
func (m *home) appendLocked(batch []*command, k kind, channels []*channel) []*command {
	if m.hub.cfg.Shard == nil {
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
	for len(channels) > 0 {
		n := min(len(channels), batchLimit)
		batch = append(batch, &command{kind: k, channels: channels[:n:n]})
		channels = channels[n:]
	}
	return batch
}

// refuseLocked takes back a subscription that the server refused. It does not say which of several channels it meant, so
// the command is halved until one is left, which rests for a while; the others stand. It reports whether such a one was
// found that has not been refused before.
func (m *home) refuseLocked(channels []*channel) (news bool) {
	for _, ch := range channels {
		ch.sent = false
	}
	if n := len(channels); n > 1 {
		m.halves = append(m.halves, channels[:n/2:n/2], channels[n/2:])
		return false
	}
	if len(m.refused) == 0 {
		m.refusedAt = time.Now().Add(refusedGap)
	}
	m.refused = append(m.refused, channels...)
	news = !channels[0].refused
	channels[0].refused = true
	return news
}
