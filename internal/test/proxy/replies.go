package proxy

import (
	"bufio"
	"net"
)

func (l *link) readReplies() {
	r := bufio.NewReader(l.server)
	for {
		f, err := readFrame(r)
		if err != nil {
			l.report("server", err)
			l.down.push(reply{end: true, due: l.proxy.due(0)})
			return
		}
		l.pass(f)
	}
}

// pass sends a frame down, and the answers of the proxy that come behind it.
func (l *link) pass(f frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rule, message := l.accountLocked(f)
	if message && l.proxy.intercept(l, f.raw) {
		return
	}
	l.down.push(reply{raw: f.raw, rule: rule, due: l.proxy.due(0)})
	l.answerLocked()
}

// accountLocked finds what a frame is: a message, or the answer to the oldest pending command, of which it returns the rule.
// The rule of a command with several confirmations applies to the first.
func (l *link) accountLocked(f frame) (rule *Rule, message bool) {
	if l.subs.isMessage(f) {
		return nil, true
	}
	if len(l.pending) == 0 || !l.subs.isReply(f, l.pending[0].command) {
		return nil, false
	}
	p := &l.pending[0]
	if f.kind == '-' {
		p.left = 1 // an error answers the whole command
	} else if subscribes(p.command.Name) {
		l.subs.ever = true
	}
	rule, p.rule = p.rule, nil
	if !p.answered {
		p.answered = true
		if !l.proxy.answered(p.command, rule, f.raw) {
			rule = nil
		}
	}
	if p.left--; p.left == 0 {
		l.pending = l.pending[1:]
	}
	return rule, false
}

func (l *link) sendReplies() {
	w := bufio.NewWriter(l.client)
	deaf := false // something was lost, so nothing after it may arrive
	for {
		rep, ok := l.down.pop(l.proxy.closed)
		if !ok || !l.pause(w, rep.due) {
			return
		}
		if rep.rule.does(holdReply) && !l.hold(w, rep.rule) {
			return
		}
		switch {
		case rep.end:
			_ = w.Flush()
			l.proxy.awaitHealed(downward) // a hole swallows the FIN too
			_ = l.client.Close()
			return
		case rep.rule.does(closeAfter):
			_ = w.Flush()
			_ = l.client.Close()
			return
		case rep.rule.does(resetAfter):
			_ = w.Flush()
			if tcp, ok := l.client.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = l.client.Close()
			return
		}
		if deaf = deaf || rep.rule.does(dropReply) || l.proxy.hasHole(downward); deaf {
			_ = w.Flush() // what came before still arrives
			continue
		}
		switch { // errors mean that the client is gone, which readRequests notices
		case rep.rule.does(halfReply):
			_, _ = w.Write(rep.raw[:len(rep.raw)/2])
			_ = w.Flush()
			deaf = true
		case rep.rule.does(splitReply):
			for i := range rep.raw {
				_, _ = w.Write(rep.raw[i : i+1])
				_ = w.Flush() // a packet of its own: Go sets TCP_NODELAY
			}
		case rep.rule.does(replace):
			_, _ = w.WriteString("-" + rep.rule.action.answer + "\r\n")
		default:
			_, _ = w.Write(rep.raw)
		}
		if l.down.empty() {
			_ = w.Flush()
		}
	}
}

// refuse answers a command in the server's place, behind the replies to earlier ones.
func (l *link) refuse(req request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, sent{ours: []byte("-" + req.rule.action.answer + "\r\n")})
	l.answerLocked()
}

// answerLocked gives the answers of the proxy that are due: no earlier command is without one.
func (l *link) answerLocked() {
	for len(l.pending) > 0 && l.pending[0].ours != nil {
		l.down.push(reply{raw: l.pending[0].ours, due: l.proxy.due(0)})
		l.pending = l.pending[1:]
	}
}
