package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A pty is a terminal of 60 by 8 with a command on it.
type pty struct {
	cmd    *exec.Cmd
	master *os.File

	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{} // closed when all was read
}

func viewedOnTerminal(t *testing.T, env string, args ...string) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 8, Col: 60}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer slave.Close()
	p := &pty{cmd: exec.Command(binary, args...), master: master, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "TERM=xterm", env)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		piece := make([]byte, 4096)
		for {
			n, err := master.Read(piece)
			p.mu.Lock()
			p.text.Write(piece[:n])
			p.mu.Unlock()
			if err != nil { // EIO when the command has ended
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		_ = master.Close()
	})
	return p
}

func (p *pty) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func TestALiveViewIsDrawnOverAndOverUntilQOrCtrlC(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	scene(t, client)
	for _, args := range [][]string{{"top", "--every", "100ms"}, {"ls", "--watch", "--every", "100ms"}, {"inspect", "orders:42", "--watch", "--every", "100ms"}} {
		for _, key := range []string{"q", "\x03"} {
			p := viewedOnTerminal(t, "NO_COLOR=", append(args, "--url", "redis://"+srv.Addr)...)
			redistest.Eventually(t, "three frames", func() bool { return strings.Count(p.shown(), "\x1b[H") >= 3 })
			_, err := p.master.WriteString(key)
			require.NoError(t, err)
			require.NoError(t, p.cmd.Wait(), "it is no failure")
			<-p.done
			text := p.shown()
			require.True(t, strings.HasPrefix(text, "\x1b[?1049h\x1b[?25l"), "%q", text)
			require.Contains(t, text, "\x1b[?25h\x1b[?1049l", "the screen from before is back")
			require.Contains(t, text, "\x1b[1m", "colours")
			frame := strings.Split(text, "\x1b[H")[2]
			require.Equal(t, 7, strings.Count(frame, "\n"), "as many lines as the terminal has")
			require.NotContains(t, text, "evil\x1b")
		}
	}
}

func TestATerminalWithoutColoursGetsNone(t *testing.T) {
	srv := redistest.Mini(t)
	scene(t, srv.Client(t))
	p := viewedOnTerminal(t, "NO_COLOR=1", "ls", "--url", "redis://"+srv.Addr)
	require.NoError(t, p.cmd.Wait())
	<-p.done
	require.NotContains(t, p.shown(), "\x1b")
	require.Contains(t, p.shown(), "orders:42")
	for line := range strings.Lines(p.shown()) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\r\n"))), 60)
	}
}
