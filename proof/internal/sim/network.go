package sim

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// A network is what lies between one client and the servers.
type network struct {
	seed    uint64
	tell    func(hindered bool)                  // told when the client cannot act for a while, and when it can again
	ghost   func()                               // a request is executed long after the client gave it up
	belated func(request []byte, sent time.Time) // a request is executed that took long, or whose client is dead
	timeout time.Duration                        // how long the client waits for an answer

	mu      sync.Mutex
	links   []*link
	dialed  uint64
	next    []fault            // the faults of the next requests
	refuses time.Time          // until then the client cannot connect
	frozen  time.Time          // until then nothing arrives
	down    [servers]time.Time // until then the server is out of reach
	deaf    time.Time          // until then messages to subscribers are lost
	gone    bool               // the client is dead
	awaits  string             // the channel whose messages are noted; empty: none
	caught  []message
	latest  time.Time // when the server sent its latest answer

	hindered time.Time // until when the client cannot be expected to act
}

// dial connects with a server.
func (n *network) dial(ctx context.Context, to int, m *miniredis.Miniredis) (net.Conn, error) {
	if err := sleep(ctx, time.Until(n.thaw())); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone || time.Now().Before(later(n.refuses, n.down[to])) {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: syscall.ECONNREFUSED}
	}
	n.dialed++
	l := newLink(n, to, n.seed+n.dialed)
	n.links = append(n.links, l)
	m.Server().ServeConn(l.server())
	return l.client(), nil
}

func (n *network) forget(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.links {
		if n.links[i] == l {
			n.links = append(n.links[:i], n.links[i+1:]...)
			return
		}
	}
}

// meet says what happens to a request. Those that open a connection or subscribe are left alone.
func (n *network) meet(request []byte) fault {
	if !isScript(request) {
		return fault{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.next) == 0 {
		return fault{}
	}
	f := n.next[0]
	n.next = n.next[1:]
	n.hinder(f.For + n.timeout + aftermath)
	return f
}

// aftermath is how long a client may be busy with what has gone wrong after it has noticed.
const aftermath = 3 * time.Second

// late says that a request will be executed so much later.
func (n *network) late(after time.Duration) {
	if after > n.timeout {
		time.AfterFunc(after, func() {
			if !n.over() {
				n.ghost()
			}
		})
	}
}

// arrives is told of each request that a server reads.
func (n *network) arrives(request []byte, sent time.Time) {
	if (n.over() || time.Since(sent) > Trip) && isScript(request) {
		n.belated(request, sent)
	}
}

// over tells whether the client is dead.
func (n *network) over() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone
}

// drops tells whether a message to a subscriber is lost.
func (n *network) drops(answer []byte) bool {
	if !isMessage(answer) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.deaf)
}

func isScript(request []byte) bool {
	return bytes.Contains(request, []byte("evalsha")) || bytes.Contains(request, []byte("\r\neval\r\n"))
}

func isMessage(answer []byte) bool {
	return bytes.HasPrefix(answer, []byte(">3\r\n$7\r\nmessage")) || bytes.HasPrefix(answer, []byte("*3\r\n$7\r\nmessage"))
}

func (n *network) thaw() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen
}

// suffer begins a fault.
func (n *network) suffer(f fault) {
	for _, l := range n.begin(f) { // without the mutex: a link may be in the middle of a write that asks what it meets
		if f.Kind == Silence || f.Kind == Vanish {
			l.silence()
		} else {
			l.cut()
		}
	}
}

// begin notes a fault and returns the connections that it ends.
func (n *network) begin(f fault) (ends []*link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	until := time.Now().Add(f.For)
	switch f.Kind {
	case LoseMessages: // does not hinder the client: its waiters ask by themselves
		n.deaf = later(n.deaf, until)
		return nil
	case Down: // does not hinder the client: its calls that do not need the server go on
		n.down[f.Server] = later(n.down[f.Server], until)
		return slices.DeleteFunc(slices.Clone(n.links), func(l *link) bool { return l.to != f.Server })
	case Freeze:
		n.frozen = later(n.frozen, until)
	case Refuse:
		n.refuses = later(n.refuses, until)
		ends = slices.Clone(n.links)
	case Cut, Silence: // silence leaves connections half open
		ends = slices.Clone(n.links)
	case Kill, Vanish: // vanish is with its machine: the server does not learn of it
		n.gone = true
		ends = slices.Clone(n.links)
	default:
		n.next = append(n.next, f)
		return nil
	}
	n.hinder(f.For + n.timeout + aftermath)
	return ends
}

// hinder says that the client cannot be expected to act for a time. The mutex is held.
func (n *network) hinder(d time.Duration) {
	now := time.Now()
	if until := now.Add(d); until.After(n.hindered) {
		if !now.Before(n.hindered) {
			n.tell(true)
		}
		n.hindered = until
		time.AfterFunc(d, n.recover)
	}
}

func (n *network) recover() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !time.Now().Before(n.hindered) {
		n.tell(false)
	}
}

// heal ends what faults are left.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next, n.refuses, n.frozen, n.deaf, n.down = nil, time.Time{}, time.Time{}, time.Time{}, [servers]time.Time{}
}

// close ends all connections for good, also those that the server has not seen end.
func (n *network) close() {
	n.mu.Lock()
	n.gone = true
	links := slices.Clone(n.links)
	n.mu.Unlock()
	for _, l := range links {
		l.cut()
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
