package wakeup

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/raise"
)

// findLimit bounds one search for the masters of all unassigned channels.
const findLimit = 10 * time.Second

// assignLocked gives unassigned channels a shard: the only one, or that of the master they live on now, which
// a goroutine has to ask for.
func (h *Hub) assignLocked(t *step) {
	if h.halted {
		return
	}
	if h.cfg.Shard == nil {
		for _, ch := range h.unassigned {
			h.adoptLocked(ch, nil, h.cfg.Client)
		}
		h.unassigned = nil
		return
	}
	if err := h.findErr; err != nil {
		h.findErr = nil
		h.findAt = t.now.Add(h.findRetry.NextBackOff())
		h.reloadLocked()
		if h.sawLocked(t, err); h.halted {
			return
		}
	}
	for _, s := range h.shards {
		if s.lost && !t.now.Before(s.notBefore) {
			s.lost = false
			for ch := range s.channels {
				ch.shard = nil
				h.unassigned = append(h.unassigned, ch)
			}
			clear(s.channels)
			s.want = nil
		}
	}
	if len(h.unassigned) == 0 || h.finding {
		return
	}
	if t.now.Before(h.findAt) {
		t.at(h.findAt)
		return
	}
	channels := h.unassigned
	h.unassigned = nil
	h.finding = true
	h.spawnLocked(func() { h.find(channels) })
}

// find asks which master each channel lives on, once per slot, and brings the channels there.
func (h *Hub) find(channels []*channel) {
	ctx, cancel := context.WithTimeout(context.Background(), findLimit)
	defer cancel()
	type location struct {
		master any
		via    Client
		err    error
	}
	masters := make(map[int]location)
	for _, ch := range channels {
		slot := keys.Slot(ch.name)
		if _, known := masters[slot]; !known {
			var p location
			if raised := raise.Run(func() { p.master, p.via, p.err = h.cfg.Shard(ctx, ch.name) }); raised != nil {
				p.err = raised
				h.hookFailed(raised)
			}
			masters[slot] = p
		}
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	h.finding = false
	for _, ch := range channels {
		switch p := masters[keys.Slot(ch.name)]; {
		case p.err != nil:
			h.findErr = p.err
			h.unassigned = append(h.unassigned, ch)
		default:
			h.adoptLocked(ch, p.master, p.via)
		}
	}
	if h.findErr == nil {
		h.findRetry.Reset()
	}
}

// adoptLocked makes the master the channel's shard.
func (h *Hub) adoptLocked(ch *channel, master any, via Client) {
	if ch.gone || ch.shard != nil {
		return
	}
	s := h.shards[master]
	if s == nil {
		s = &shard{
			hub:      h,
			master:   master,
			channels: make(map[*channel]struct{}),
			retry:    newRetry(),
			patience: h.cfg.patience(),
		}
		h.shards[master] = s
	}
	s.via = via // a node that left and came back has a new client
	ch.shard = s
	s.channels[ch] = struct{}{}
	s.want = append(s.want, ch)
}
