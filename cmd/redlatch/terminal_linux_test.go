package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A screen is a terminal with a program on it.
type screen struct {
	t       *testing.T
	keys    *os.File
	session string // the number of the process that leads it
	mu      sync.Mutex
	text    strings.Builder
	seen    int // bytes of the text that were waited for
}

// onTerminal starts a program in a session of its own, whose terminal the screen is.
func onTerminal(t *testing.T, srv *redistest.Server, name string, args ...string) (*screen, *exec.Cmd) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	raw, err := keys.SyscallConn()
	require.NoError(t, err)
	var number int
	require.NoError(t, raw.Control(func(fd uintptr) {
		require.NoError(t, unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0))
		number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	}))
	require.NoError(t, err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer terminal.Close()

	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), connect.URLVariable+"=redis://"+srv.Addr, "PS1=ready: ", "TERM=dumb")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	s := &screen{t: t, keys: keys, session: strconv.Itoa(cmd.Process.Pid)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 4096)
		for {
			n, err := keys.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil { // nothing has the terminal open any more
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error means that it has ended
		_ = cmd.Wait()
		require.NoError(t, keys.Close())
		<-ended
	})
	return s, cmd
}

func (s *screen) press(keys string) {
	s.t.Helper()
	_, err := s.keys.WriteString(keys)
	require.NoError(s.t, err)
}

// until returns when a text has come that was not waited for before.
func (s *screen) until(text string) {
	s.t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		all := s.text.String()
		s.mu.Unlock()
		if at := strings.Index(all[s.seen:], text); at >= 0 {
			s.seen += at + len(text)
			return
		}
		if !time.Now().Before(limit) {
			require.Failf(s.t, "the terminal does not show it", "there is no %q in %q; its processes:\n%s", text, all, s.processes())
		}
	}
}

// processes tells of each process on the terminal what it is and does: its parent, group, session, the
// foreground group, its state, and where in the kernel it waits.
func (s *screen) processes() string {
	out, err := exec.Command("ps", "-e", "-o", "pid,ppid,pgid,sid,tpgid,stat,wchan:24,args").CombinedOutput()
	if err != nil {
		return err.Error()
	}
	var told strings.Builder
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 3 && (fields[3] == "SID" || fields[3] == s.session) {
			told.WriteString(line)
		}
	}
	return told.String()
}

func TestTheCommandHasTheTerminal(t *testing.T) {
	srv := redistest.Process(t)
	s, cmd := onTerminal(t, srv, binary, "run", "a", "-c", `trap 'echo inter''rupted; exit 7' INT; read x; echo "<$x>"; read y`)
	s.press("hello\n")
	s.until("<hello>")
	s.press("\x03")
	s.until("interrupted")
	require.Error(t, cmd.Wait())
	require.Equal(t, 7, cmd.ProcessState.ExitCode())
}

// The quotes inside the word tell what the loop writes from the shell's echo of this text.
const shellLoop = `i=0; while :; do i=$((i+1)); echo "tu""rn-$i."; sleep 0.05; done`

func TestCtrlZStopsTheJobAndFgContinuesIt(t *testing.T) {
	srv := redistest.Process(t)
	s, _ := onTerminal(t, srv, "bash", "--norc", "--noprofile", "-i")
	s.until("ready: ")
	s.press(binary + " run a -c '" + shellLoop + "'\n")
	s.until("turn-3.")
	for range 2 {
		s.press("\x1a")
		s.until("Stopped")
		s.until("ready: ")
		s.press("fg\n")
		s.until("turn-")
		s.until("turn-")
	}
	s.press("\x03")
	s.until("ready: ")
	s.press("echo code-$?.\n")
	s.until("code-130.")
	locked, err := rlock.New(srv.Client(t), "a").IsLocked(context.Background())
	require.NoError(t, err)
	require.False(t, locked)
}

// The lock that a stopped job has is not renewed. The command ends with the lease, and fg tells so.
func TestAStoppedJobThatHasLostTheLockDoesNotGoOn(t *testing.T) {
	srv := redistest.Process(t)
	s, _ := onTerminal(t, srv, "bash", "--norc", "--noprofile", "-i")
	s.until("ready: ")
	s.press(binary + " run --lease 2s a -c '" + shellLoop + "'\n")
	s.until("turn-3.")
	s.press("\x1a")
	s.until("Stopped")
	s.until("ready: ")
	lock := rlock.New(srv.Client(t), "a")
	hold, err := lock.Lock(context.Background())
	require.NoError(t, err)
	s.press("fg\n")
	s.until("lock is lost")
	s.until("ready: ")
	s.press("echo code-$?.\n")
	s.until(fmt.Sprintf("code-%d.", exit.Lost))
	require.NoError(t, hold.Unlock(context.Background()))
}

// A job that was forced out while it was stopped is killed by fg, before a turn.
func TestFgAsksRedisBeforeTheCommandGoesOn(t *testing.T) {
	srv := redistest.Process(t)
	s, _ := onTerminal(t, srv, "bash", "--norc", "--noprofile", "-i")
	s.until("ready: ")
	s.press(binary + " run --lease 30s a -c '" + shellLoop + "'\n")
	s.until("turn-3.")
	s.press("\x1a")
	s.until("Stopped")
	s.until("ready: ")
	_, err := rlock.New(srv.Client(t), "a").ForceUnlock(context.Background())
	require.NoError(t, err)
	s.press("fg\n")
	s.until("lock is lost")
	s.until("ready: ")
	s.press("echo code-$?.\n")
	s.until(fmt.Sprintf("code-%d.", exit.Lost))
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotContains(t, s.text.String()[strings.Index(s.text.String(), "Stopped"):], "turn-")
}
