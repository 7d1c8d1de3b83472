package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// A link is one client's connection and the connection to the server behind it. Four goroutines work on it:
//
//	client -> readRequests -> up   -> sendRequests -> server
//	client <- sendReplies  <- down <- readReplies  <- server
//
// The readers never wait for anything but the network: what is to be late waits in the queues. Each goroutine ends
// when its source does, after everything before has been dealt with, so a request that was read reaches the server
// whatever becomes of the client.
type link struct {
	proxy          *Proxy
	id             int
	client, server net.Conn
	up             *queue[request]
	down           *queue[reply]

	mu      sync.Mutex
	pending []sent        // sent to the server and not answered, oldest first
	subs    subscriptions // of this connection
	left    bool          // the client's side has ended
}

// A request waits in link.up. The one with end set stands for the client's departure.
type request struct {
	command Command
	raw     []byte
	rule    *Rule // nil when none applies
	due     time.Time
	end     bool
}

// A reply waits in link.down. The one with end set stands for the end of the server's side.
type reply struct {
	raw  []byte
	rule *Rule // nil when none applies, or when it has been applied to the request
	due  time.Time
	end  bool
}

type sent struct {
	command  Command
	rule     *Rule
	left     int    // frames still to come; more than one for subscriptions
	answered bool   // the first has come
	ours     []byte // the answer of the proxy to a command that the server does not get; nil for all others
}

func (r *Rule) does(kind actionKind) bool { return r != nil && r.action.kind == kind }

// run returns when both sides have ended.
func (l *link) run() {
	var work sync.WaitGroup
	work.Go(l.readRequests)
	work.Go(l.sendRequests)
	work.Go(l.readReplies)
	work.Go(l.sendReplies)
	work.Wait()
	_ = l.server.Close()
	_ = l.client.Close()
}

func (l *link) readRequests() {
	r := bufio.NewReader(l.client)
	for {
		f, err := readFrame(r)
		if err == nil && (f.kind != '*' || len(f.strs) == 0 || len(f.strs) != f.n) {
			err = errors.New("a request that is not an array of strings")
		}
		if err != nil {
			l.report("client", err)
			l.mu.Lock()
			l.left = true
			l.mu.Unlock()
			l.up.push(request{end: true, due: l.proxy.due(0)})
			return
		}
		c := Command{Name: strings.ToUpper(f.strs[0]), Args: f.strs[1:], Conn: l.id}
		req := request{command: c, raw: f.raw, rule: l.proxy.meet(c)}
		if req.rule.does(delay) {
			req.due = l.proxy.due(req.rule.action.delay)
		} else {
			req.due = l.proxy.due(0)
		}
		l.up.push(req)
	}
}

func (l *link) sendRequests() {
	defer func() { endWriting(l.server) }()
	w := bufio.NewWriter(l.server)
	defer w.Flush()
	deaf := false // something was lost, so nothing after it may arrive
	for {
		req, ok := l.up.pop(l.proxy.closed)
		if !ok || !l.pause(w, req.due) {
			return
		}
		if req.rule.does(hold) && !l.hold(w, req.rule) {
			return
		}
		if l.proxy.shut(&l.proxy.frozen) {
			_ = w.Flush()
			l.proxy.pass(&l.proxy.frozen)
		}
		if req.end {
			_ = w.Flush()
			l.proxy.awaitHealed(upward) // a hole swallows the FIN too
			return
		}
		if req.rule.does(closeBefore) {
			return // the server answers what came before and closes; readReplies passes that on
		}
		if deaf = deaf || req.rule.does(dropRequest) || l.proxy.hasHole(upward); deaf {
			_ = w.Flush() // what came before still arrives
			continue
		}
		if req.rule.does(refuse) {
			_ = w.Flush() // what came before is answered first
			l.refuse(req)
			continue
		}
		l.mu.Lock()
		l.pending = append(l.pending, sent{command: req.command, rule: req.rule, left: l.subs.confirmations(req.command)})
		l.mu.Unlock()
		_, _ = w.Write(req.raw) // readReplies notices when the server is gone
		if l.up.empty() {
			_ = w.Flush()
		}
	}
}

// endWriting ends the leg to the server, where the connection has two: the server still answers what it was sent. A pipe
// has read all of that by now.
func endWriting(server net.Conn) {
	if half, ok := server.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = server.Close()
}

// pause waits until due, after sending what is ready; false when the proxy closed first.
func (l *link) pause(w *bufio.Writer, due time.Time) bool {
	wait := time.Until(due)
	if due.IsZero() || wait <= 0 {
		return true
	}
	_ = w.Flush()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.proxy.closed:
		return false
	}
}

// hold waits for the rule's release, after sending what is ready; false when the proxy closed first.
func (l *link) hold(w *bufio.Writer, rule *Rule) bool {
	_ = w.Flush()
	select {
	case <-rule.released:
		return true
	case <-l.proxy.closed:
		return false
	}
}

// report notes what a test must not overlook: a peer that speaks something we do not understand. That a connection
// ends, in whatever way, is what this package is for.
func (l *link) report(side string, err error) {
	var network *net.OpError
	if errors.As(err, &network) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	l.proxy.problem("connection %d, from the %s: %v", l.id, side, err)
}
