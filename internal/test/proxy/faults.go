package proxy

import (
	"fmt"
	"net"
	"time"
)

// CutAll closes the clients' side of all connections. Requests that were read from them still reach the server.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		_ = l.client.Close()
	}
	for conn := range p.hung {
		_ = conn.Close()
	}
}

// Refuse makes new connections fail when they are dialled, or ends that. Connections that exist go on. The error tells
// that the port could not be had again; the proxy still refuses then.
func (p *Proxy) Refuse(refuse bool) error {
	p.mu.Lock()
	p.refusing = refuse
	if refuse {
		if p.listener != nil {
			_ = p.listener.Close()
			p.listener = nil
		}
		p.mu.Unlock()
		return nil
	}
	reopen := p.addr != "" && p.listener == nil && !p.isClosed()
	addr := p.addr
	p.mu.Unlock()
	if reopen {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return fmt.Errorf("proxy: accept connections again: %w", err)
		}
		p.serve(l)
	}
	return nil
}

// Hang makes new connections succeed and never get an answer, or ends that. Those that hang already stay so.
func (p *Proxy) Hang(hang bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hang = hang
}

// Latency makes every request and every reply, messages included, arrive d later than it would; a round trip takes 2 d
// more. What is under way at the same time is late at the same time, not one after another.
func (p *Proxy) Latency(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latency = d
}

// due is when something that was read now shall go on; zero for at once.
func (p *Proxy) due(extra time.Duration) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latency+extra == 0 {
		return time.Time{}
	}
	return time.Now().Add(p.latency + extra)
}

// Hole makes all connections half-open until Heal: they stay, but what goes up to the server, or down to the client, or
// both, is swallowed, and so is the news that a side has closed. After Heal, connections that lost something stay deaf.
// New connections are accepted and fall into the same hole.
func (p *Proxy) Hole(up, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	setGate(&p.holes[upward], up)
	setGate(&p.holes[downward], down)
}

// Freeze makes the server seem to stand still, or to go on: connections stay, also new ones, and what clients send waits until
// then, also where the client gives up and goes. What the server has answered before still arrives.
func (p *Proxy) Freeze(freeze bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	setGate(&p.frozen, freeze)
}

// Heal ends what Hole, Refuse, Hang, Freeze and Latency began, and DropMessages and HoldMessages too. Rules stay.
// The error is that of Refuse.
func (p *Proxy) Heal() error {
	p.Hole(false, false)
	err := p.Refuse(false)
	p.Hang(false)
	p.Freeze(false)
	p.Latency(0)
	p.DropMessages(false)
	p.HoldMessages(false)
	return err
}

// setGate closes a gate, which is nil while it is open, or opens it for those who wait there.
func setGate(gate *chan struct{}, shut bool) {
	switch {
	case shut && *gate == nil:
		*gate = make(chan struct{})
	case !shut && *gate != nil:
		close(*gate)
		*gate = nil
	}
}

func (p *Proxy) hasHole(d direction) bool { return p.shut(&p.holes[d]) }

// awaitHealed returns when there is no hole in this direction, or when the proxy closes.
func (p *Proxy) awaitHealed(d direction) { p.pass(&p.holes[d]) }

// pass returns when the gate is open, or when the proxy closes.
func (p *Proxy) pass(gate *chan struct{}) {
	p.mu.Lock()
	open := *gate
	p.mu.Unlock()
	if open == nil {
		return
	}
	select {
	case <-open:
	case <-p.closed:
	}
}

// shut tells whether the gate is closed.
func (p *Proxy) shut(gate *chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *gate != nil
}

// DropMessages swallows all published messages, or ends that. Confirmations of subscriptions and all other replies pass.
func (p *Proxy) DropMessages(drop bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropMessages = drop
}

// HoldMessages keeps all published messages back while everything else passes; false delivers them, in their order.
func (p *Proxy) HoldMessages(hold bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holdMessages = hold
	if hold {
		return
	}
	for _, m := range p.held {
		m.link.down.push(reply{raw: m.raw})
	}
	p.held = nil
}

// DroppedMessages is how many messages DropMessages has swallowed.
func (p *Proxy) DroppedMessages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// HeldMessages is how many messages HoldMessages keeps back now.
func (p *Proxy) HeldMessages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.held)
}

// intercept takes a message out of the stream when it is to be dropped or held.
func (p *Proxy) intercept(l *link, raw []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dropMessages:
		p.dropped++
		return true
	case p.holdMessages:
		p.held = append(p.held, heldMessage{l, raw})
		return true
	}
	return false
}
