package wakeup

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/raise"
)

// findLimit bounds one search for the masters of all stray channels.
const findLimit = 10 * time.Second

// placeLocked gives stray channels a home: the only one, or that of the master they live on now, which a goroutine has to
// ask for.
func (h *Hub) placeLocked(t *turn) {
	if h.halted {
		return
	}
	if h.cfg.Shard == nil {
		for _, ch := range h.stray {
			h.adoptLocked(ch, nil, h.cfg.Client)
		}
		h.stray = nil
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
	for _, m := range h.homes {
		if m.lost && !t.now.Before(m.notBefore) {
			m.lost = false
			for ch := range m.channels {
				ch.home = nil
				h.stray = append(h.stray, ch)
			}
			clear(m.channels)
			m.want = nil
		}
	}
	if len(h.stray) == 0 || h.finding {
		return
	}
	if t.now.Before(h.findAt) {
		t.at(h.findAt)
		return
	}
	strays := h.stray
	h.stray = nil
	h.finding = true
	h.spawnLocked(func() { h.find(strays) })
}

// find asks which master each channel lives on, once per slot, and brings the channels there.
func (h *Hub) find(strays []*channel) {
	ctx, cancel := context.WithTimeout(context.Background(), findLimit)
	defer cancel()
	type place struct {
		master any
		via    Client
		err    error
	}
	places := make(map[int]place)
	slots := make([]int, len(strays))
	for i, ch := range strays {
		slot := keys.Slot(ch.name)
		slots[i] = slot
		if _, known := places[slot]; !known {
			var p place
			if raised := raise.Run(func() { p.master, p.via, p.err = h.cfg.Shard(ctx, ch.name) }); raised != nil {
				p.err = raised
				h.hookFailed(raised)
			}
			places[slot] = p
		}
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	h.finding = false
	for i, ch := range strays {
		switch p := places[slots[i]]; {
		case p.err != nil:
			h.findErr = p.err
			h.stray = append(h.stray, ch)
		default:
			h.adoptLocked(ch, p.master, p.via)
		}
	}
	if h.findErr == nil {
		h.findRetry.Reset()
	}
}

// adoptLocked makes the master the channel's home.
func (h *Hub) adoptLocked(ch *channel, master any, via Client) {
	if ch.gone || ch.home != nil {
		return
	}
	m := h.homes[master]
	if m == nil {
		m = &home{
			hub:      h,
			master:   master,
			channels: make(map[*channel]struct{}),
			retry:    newRetry(),
			patience: h.cfg.patience(),
		}
		h.homes[master] = m
	}
	m.via = via // a node that left and came back has a new client
	ch.home = m
	m.channels[ch] = struct{}{}
	m.want = append(m.want, ch)
}
