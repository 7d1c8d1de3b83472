package sim

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

// A link is one connection between a client and a server: a pipe for each direction.
type link struct {
	up, down *pipe
	network  *network
	to       int        // which server
	dice     *rand.Rand // of the delays upwards
	back     *rand.Rand // of those downwards

	mu       sync.Mutex
	reply    fault // what happens to the next answer
	silenced bool  // nothing passes any more, and neither end is told
}

func newLink(n *network, to int, seed uint64) *link {
	l := &link{
		up: newPipe(n), down: newPipe(n), network: n, to: to,
		dice: rand.New(rand.NewPCG(seed, 1)), back: rand.New(rand.NewPCG(seed, 2)),
	}
	l.up.arrives = n.arrives
	return l
}

// request takes what the client writes.
func (l *link) request(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	after := delay(l.dice)
	if l.silenced {
		return
	}
	switch f := l.network.meet(b); f.Kind {
	case LoseRequest:
		l.silenced = true
		return
	case LoseRequestAndCut:
		l.cut()
		return
	case LateRequest:
		after += f.For
		l.network.late(after)
	case LateCopy: // the client learns at once that the connection is gone
		l.up.put(b, after+f.For)
		l.network.late(after + f.For)
		l.cut()
		return
	case LoseReply, LoseReplyAndCut, LateReply:
		l.reply = f
	}
	l.up.put(b, after)
}

// answer takes what the server writes.
func (l *link) answer(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	after := delay(l.back)
	if l.silenced || l.network.drops(b) {
		return
	}
	f := l.reply
	l.reply = fault{}
	switch f.Kind {
	case LoseReply:
		l.silenced = true
		return
	case LoseReplyAndCut:
		l.cut()
		return
	case LateReply:
		after += f.For
	}
	l.network.answered(b, l.down.put(b, after))
}

// cut ends the connection. What is on its way to the server still arrives.
func (l *link) cut() {
	l.up.end()
	l.down.fail()
}

// hangUp is the client's end. A connection that has fallen silent stays open for the server.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down.fail()
	if !l.silenced {
		l.up.end()
		l.network.forget(l)
	}
}

// silence has the link carry nothing more, without a word to either end.
func (l *link) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silenced = true
}

// What the network takes in one direction where nothing is wrong, and the longest round trip.
const (
	shortest = 50 * time.Microsecond
	usual    = 300 * time.Microsecond // at most, beside the shortest
	rare     = 8 * time.Millisecond   // at most, in addition
	Trip     = 2 * (shortest + usual + rare)
)

func delay(dice *rand.Rand) time.Duration {
	d := shortest + time.Duration(dice.Int64N(int64(usual)))
	if dice.IntN(60) == 0 {
		d += time.Duration(dice.Int64N(int64(rare)))
	}
	return d
}

// An end is what the client or the server has of a link.
type end struct {
	in, out *pipe
	send    func(b []byte)
	closed  func()
}

func (l *link) client() net.Conn {
	return &end{in: l.down, out: l.up, send: l.request, closed: l.hangUp}
}

func (l *link) server() net.Conn {
	return &end{in: l.up, out: l.down, send: l.answer, closed: func() { l.down.end(); l.up.fail() }}
}

func (e *end) Read(b []byte) (int, error) { return e.in.read(b) }

func (e *end) Write(b []byte) (int, error) {
	if e.out.over() {
		return 0, net.ErrClosed
	}
	e.send(append([]byte(nil), b...))
	return len(b), nil
}

func (e *end) Close() error                       { e.closed(); return nil }
func (e *end) LocalAddr() net.Addr                { return address{} }
func (e *end) RemoteAddr() net.Addr               { return address{} }
func (e *end) SetDeadline(t time.Time) error      { return e.SetReadDeadline(t) }
func (e *end) SetReadDeadline(t time.Time) error  { e.in.limit(t); return nil }
func (e *end) SetWriteDeadline(t time.Time) error { return nil } // a write never blocks

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "in-memory" }

// A pipe carries bytes in one direction, in the order in which they were written.
type pipe struct {
	network *network
	wake    chan struct{}                  // of one: something has changed
	arrives func(b []byte, sent time.Time) // nil, or told of what begins to be read

	mu       sync.Mutex
	chunks   []chunk
	deadline time.Time
	ended    bool // nothing more will be written
	failed   bool // nothing more can be read
}

type chunk struct {
	bytes []byte
	sent  time.Time // zero when it is being read
	due   time.Time
}

func newPipe(n *network) *pipe { return &pipe{network: n, wake: make(chan struct{}, 1)} }

// put answers how long the bytes take.
func (p *pipe) put(b []byte, after time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	due := now.Add(after)
	if len(p.chunks) > 0 {
		if last := p.chunks[len(p.chunks)-1].due; !due.After(last) {
			due = last.Add(1)
		}
	}
	p.chunks = append(p.chunks, chunk{b, now, due})
	p.rouse()
	return time.Until(due)
}

func (p *pipe) end()              { p.set(func() { p.ended = true }) }
func (p *pipe) fail()             { p.set(func() { p.ended, p.failed = true, true }) }
func (p *pipe) limit(t time.Time) { p.set(func() { p.deadline = t }) }

func (p *pipe) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.rouse()
}

func (p *pipe) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func (p *pipe) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// read waits for the first chunk to arrive, for the deadline, or for the end. One goroutine reads a pipe.
func (p *pipe) read(b []byte) (int, error) {
	for {
		n, wait, err := p.take(b)
		if n > 0 || err != nil {
			return n, err
		}
		if wait < 0 {
			<-p.wake
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-p.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// take returns what there is to read now, or for how long to wait before looking again; less than 0 is until woken.
func (p *pipe) take(b []byte) (n int, wait time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, next := time.Now(), time.Time{}
	if !p.deadline.IsZero() {
		if next = p.deadline; !now.Before(next) {
			return 0, 0, os.ErrDeadlineExceeded
		}
	}
	switch {
	case p.failed:
		return 0, 0, io.EOF
	case len(p.chunks) == 0 && p.ended:
		return 0, 0, io.EOF
	case len(p.chunks) > 0:
		due := p.chunks[0].due
		if thaw := p.network.thaw(); thaw.After(due) {
			due = thaw
		}
		if !now.Before(due) {
			first := &p.chunks[0]
			if p.arrives != nil && !first.sent.IsZero() {
				p.arrives(first.bytes, first.sent)
				first.sent = time.Time{}
			}
			n = copy(b, first.bytes)
			if first.bytes = first.bytes[n:]; len(first.bytes) == 0 {
				p.chunks = p.chunks[1:]
			}
			return n, 0, nil
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	if next.IsZero() {
		return 0, -1, nil
	}
	return 0, next.Sub(now), nil
}
