package delay

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial connects through a proxy to a server that sends everything back.
func dial(t *testing.T, oneWay time.Duration) (net.Conn, *Proxy) {
	t.Helper()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for conn, err := echo.Accept(); err == nil; conn, err = echo.Accept() {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	proxy, err := Listen(echo.Addr().String(), oneWay)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", proxy.Addr())
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		proxy.Close()
		_ = echo.Close()
		<-done
	})
	return conn, proxy
}

func TestEveryByteIsLateInBothDirections(t *testing.T) {
	const oneWay = 30 * time.Millisecond
	conn, _ := dial(t, oneWay)
	for range 3 {
		start := time.Now()
		_, err := conn.Write([]byte("x"))
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 1))
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), 2*oneWay)
	}
}

// A proxy that kept one chunk back before it read the next would add what is left of the first one's delay, each way.
func TestWhatIsUnderWayTogetherIsLateTogether(t *testing.T) {
	const oneWay = 400 * time.Millisecond
	conn, _ := dial(t, oneWay)
	var took []time.Duration
	for range 5 { // a busy machine may be late by itself, but hardly each time
		_, err := conn.Write([]byte("a"))
		require.NoError(t, err)
		time.Sleep(oneWay / 2)
		start := time.Now()
		_, err = conn.Write([]byte("b"))
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 2))
		require.NoError(t, err)
		if took = append(took, time.Since(start)); took[len(took)-1] < 2*oneWay+oneWay/4 {
			return
		}
	}
	require.Fail(t, "the second always waits for the first", "%v", took)
}

func TestBytesKeepTheirOrder(t *testing.T) {
	conn, _ := dial(t, time.Millisecond)
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(i * 7 / 5)
	}
	go func() { _, _ = conn.Write(sent) }()
	got := make([]byte, len(sent))
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	require.Equal(t, sent, got)
}

func TestNothingArrivesWhileItIsStalledAndAllOfItAfterwards(t *testing.T) {
	conn, proxy := dial(t, 0)
	proxy.Stall(true)
	_, err := conn.Write([]byte("late"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = conn.Read(make([]byte, 4))
	require.ErrorContains(t, err, "timeout")

	proxy.Stall(false)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	got := make([]byte, 4)
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	require.Equal(t, "late", string(got))
}

func TestCloseEndsConnectionsAlsoWhileStalled(t *testing.T) {
	conn, proxy := dial(t, 0)
	proxy.Stall(true)
	_, err := conn.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond))) // the proxy has it by then
	_, err = conn.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout")
	proxy.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "timeout")
}
