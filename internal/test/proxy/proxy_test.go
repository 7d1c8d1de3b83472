package proxy_test

import (
	"net"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/test/proxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// What a program has to do that is no test.
func TestCloseTellsOnceOfWhatWasNotUnderstood(t *testing.T) {
	p, err := proxy.Start(redistest.Mini(t).Addr)
	ok(t, err)
	conn, err := net.Dial("tcp", p.Addr())
	ok(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("PING\r\n"))
	ok(t, err)
	_, err = conn.Read(make([]byte, 1)) // the proxy hangs up on it
	isEOF(t, err)
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "from the client") {
		t.Fatalf("the first Close says %v", err)
	}
	ok(t, p.Close())
	ok(t, p.Refuse(false)) // nothing to open again
}

func TestRefuseSaysThatItsPortWasTaken(t *testing.T) {
	p, err := proxy.Start(redistest.Mini(t).Addr)
	ok(t, err)
	ok(t, p.Refuse(true))
	taken, err := net.Listen("tcp", p.Addr())
	ok(t, err)
	if err := p.Heal(); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("the port is taken, but Heal says %v", err)
	}
	ok(t, taken.Close())
	ok(t, p.Heal())
	conn, err := net.Dial("tcp", p.Addr())
	ok(t, err)
	ok(t, conn.Close())
	ok(t, p.Close())
}
