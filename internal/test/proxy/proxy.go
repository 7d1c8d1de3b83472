package proxy

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"
)

// A Proxy stands between clients and one server. Its methods may be called by any goroutine at any time.
type Proxy struct {
	dial   func() (net.Conn, error) // to the server
	closed chan struct{}            // closed by Close
	work   sync.WaitGroup           // the accept loop and all connections

	mu       sync.Mutex
	addr     string            // empty until Listen
	listener net.Listener      // nil before Listen and while connections are refused
	refusing bool              // by Refuse
	conns    map[net.Conn]bool // all open ones, of both legs
	links    map[*link]bool
	hung     map[net.Conn]bool // clients that nobody will answer
	lastID   int
	rules    []*Rule
	seen     map[string]int
	executed map[string]int
	problems []error

	hang    bool
	latency time.Duration
	holes   [2]chan struct{} // by direction: not nil while there is a hole, closed when it is healed
	frozen  chan struct{}    // not nil while the server seems to stand still, closed when it goes on

	dropMessages bool
	holdMessages bool
	dropped      int
	held         []heldMessage
}

type direction int

const (
	upward   direction = iota // to the server
	downward                  // to the client
)

type heldMessage struct {
	link *link
	raw  []byte
}

// New returns a proxy that serves until Close and has no port: clients come by Dial. dial makes a connection to the server.
func New(dial func() (net.Conn, error)) *Proxy {
	return &Proxy{
		dial: dial, closed: make(chan struct{}),
		conns: make(map[net.Conn]bool), links: make(map[*link]bool), hung: make(map[net.Conn]bool),
		seen: make(map[string]int), executed: make(map[string]int),
	}
}

// Start returns a proxy to the server at upstream, which listens and serves until Close.
func Start(upstream string) (*Proxy, error) {
	p := New(func() (net.Conn, error) { return net.DialTimeout("tcp", upstream, patience) })
	if err := p.Listen(); err != nil {
		return nil, err
	}
	return p, nil
}

// Listen has clients connect to Addr.
func (p *Proxy) Listen() error {
	l, err := listen()
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	p.mu.Lock()
	p.addr = l.Addr().String()
	p.mu.Unlock()
	p.serve(l)
	return nil
}

// Dial returns a connection through the proxy that needs no socket on the client's side. It is refused while Refuse says so,
// and when the proxy is closed.
func (p *Proxy) Dial() (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusing || p.isClosed() {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	}
	near, far := net.Pipe()
	p.work.Go(func() { p.handle(far) })
	return pipeEnd{near}, nil
}

// listen takes a port below those that kernels give to outgoing connections, so that Refuse can give it up and find
// it free again.
func listen() (net.Listener, error) {
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 22000+rand.IntN(8000)))
		if err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("found no free port between 22000 and 30000")
}

// Addr is where clients connect, host:port; it is empty for a proxy without a port.
func (p *Proxy) Addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

func (p *Proxy) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// Close ends all connections and waits for them. What is held or delayed is dropped. The error tells of peers that sent
// what the proxy does not understand; only the first Close returns it.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.isClosed() {
		p.mu.Unlock()
		return nil
	}
	close(p.closed)
	if p.listener != nil {
		_ = p.listener.Close()
	}
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.problems...)
}

func (p *Proxy) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, fmt.Errorf("proxy: "+format, args...))
}

func (p *Proxy) serve(l net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = l
	p.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			p.work.Go(func() { p.handle(conn) })
		}
	})
}

// patience bounds the wait for a server that does not take a connection.
const patience = 30 * time.Second

// handle lives as long as the client's connection, and as long as something it sent is still on its way.
func (p *Proxy) handle(client net.Conn) {
	defer client.Close()
	if !p.track(client) {
		return
	}
	defer p.forget(client)

	p.mu.Lock()
	if p.hang {
		p.hung[client] = true
		p.mu.Unlock()
		_, _ = io.Copy(io.Discard, client)
		return
	}
	p.lastID++
	id := p.lastID
	p.mu.Unlock()

	server, err := p.dial()
	if err != nil {
		return
	}
	defer server.Close()
	if !p.track(server) {
		return
	}
	defer p.forget(server)

	l := &link{proxy: p, id: id, client: client, server: server, up: newQueue[request](), down: newQueue[reply]()}
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// track makes Close close the connection; false when it is too late for that.
func (p *Proxy) track(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed() {
		return false
	}
	p.conns[conn] = true
	return true
}

func (p *Proxy) forget(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
	delete(p.hung, conn)
}

// Conns is how many clients are connected, without those that hang.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	n := 0
	for _, l := range links {
		l.mu.Lock()
		if !l.left {
			n++
		}
		l.mu.Unlock()
	}
	return n
}
