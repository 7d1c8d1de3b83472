// Package delay is a piece of network: a TCP proxy that lets every byte arrive a fixed time later than it would, in
// both directions. What is under way at the same time is late at the same time, so that latency does not bound
// throughput.
package delay

import (
	"net"
	"sync"
	"time"
)

// A Proxy stands between clients and one server.
type Proxy struct {
	upstream string
	oneWay   time.Duration
	listener net.Listener
	work     sync.WaitGroup // the accept loop and all connections

	mu     sync.Mutex
	conns  map[net.Conn]bool // of both legs; nil when closed
	open   chan struct{}     // closed while bytes flow
	flows  bool
	closed chan struct{}
}

// Listen starts a proxy on a free port of 127.0.0.1. Each direction takes oneWay longer.
func Listen(upstream string, oneWay time.Duration) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		upstream: upstream, oneWay: oneWay, listener: listener, conns: map[net.Conn]bool{},
		open: make(chan struct{}), flows: true, closed: make(chan struct{}),
	}
	close(p.open)
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where clients connect, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Stall keeps back all bytes of both directions, as a network does that has lost its route, or lets them go on.
// Connections stay open, and new ones are accepted.
func (p *Proxy) Stall(stall bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case stall && p.flows:
		p.open = make(chan struct{})
	case !stall && !p.flows:
		close(p.open)
	}
	p.flows = !stall
}

// Close ends all connections and waits for them.
func (p *Proxy) Close() {
	p.mu.Lock()
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	if conns == nil {
		return
	}
	close(p.closed)
	_ = p.listener.Close()
	for conn := range conns {
		_ = conn.Close()
	}
	p.work.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.work.Go(func() { p.carry(client) })
	}
}

// carry lives as long as either side of the connection.
func (p *Proxy) carry(client net.Conn) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", p.upstream, 5*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.track(client, server) {
		return
	}
	defer p.forget(client, server)
	var directions sync.WaitGroup
	directions.Go(func() { p.pass(client, server) })
	directions.Go(func() { p.pass(server, client) })
	directions.Wait()
}

func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return false
	}
	for _, conn := range conns {
		p.conns[conn] = true
	}
	return true
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.conns, conn)
	}
}

// A chunk is what one read found.
type chunk struct {
	due  time.Time
	data []byte
}

const (
	readSize = 64 << 10
	inFlight = 4096 // chunks under way; a bound for memory that no benchmark reaches
)

// pass carries one direction until its source ends; then the destination is told.
func (p *Proxy) pass(from, to net.Conn) {
	chunks := make(chan chunk, inFlight)
	var writer sync.WaitGroup
	writer.Go(func() {
		failed := false
		for c := range chunks { // to the end, or the reader would stay
			failed = failed || !p.deliver(to, c)
		}
		_ = to.Close()
		_ = from.Close()
	})
	buffer := make([]byte, readSize)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			chunks <- chunk{time.Now().Add(p.oneWay), append([]byte(nil), buffer[:n]...)}
		}
		if err != nil {
			break
		}
	}
	close(chunks)
	writer.Wait()
}

func (p *Proxy) deliver(to net.Conn, c chunk) bool {
	sleepUntil(c.due)
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	select {
	case <-open:
	case <-p.closed:
		return false
	}
	_, err := to.Write(c.data)
	return err == nil
}
