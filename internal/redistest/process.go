package redistest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// patience bounds every wait for a server to do what it was told. Servers answer within milliseconds; a machine with
// more tests than cores may take seconds, and a wait that runs out is a failure, so there is no use in being strict.
const patience = 30 * time.Second

// A process is one redis-server that we started. It is driven by one goroutine, the test's.
type process struct {
	tb   testing.TB
	args []string // as given to launch
	dir  string   // working directory: the log, and whatever the server keeps
	port int
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has exited and was reaped
}

// launch starts a redis-server with these arguments on a free port of 127.0.0.1; it is killed with the test.
func launch(tb testing.TB, args ...string) *Server {
	tb.Helper()
	p := &process{tb: tb, args: args, dir: tb.TempDir()}
	tb.Cleanup(func() { p.kill() })
	var err error
	for range 20 { // somebody may take the port between our look and the server's bind
		p.port = freePort(tb)
		if err = p.start(); err == nil {
			break
		}
	}
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	s := &Server{Name: "redis", Real: true, Addr: p.addr(), tb: tb, process: p, token: newToken()}
	s.options.Addr = s.Addr
	s.admin = newAdmin(tb, s.options)
	return s
}

// Stop freezes the process (SIGSTOP) and returns when it stands still: connections stay open, nobody answers.
func (s *Server) Stop() { s.tb.Helper(); s.own().pause() }

// Continue lets a stopped process run on (SIGCONT). It then executes what clients sent meanwhile.
func (s *Server) Continue() { s.tb.Helper(); s.own().resume() }

// Kill ends the process at once (SIGKILL), stopped or not, and returns when it is gone.
func (s *Server) Kill() { s.tb.Helper(); s.own().kill() }

// Restart starts the process again on the same port, after a Kill if it still runs, and returns when it answers. It
// is empty then, unless Process was told to keep data.
func (s *Server) Restart() {
	s.tb.Helper()
	p := s.own()
	p.kill()
	if err := p.start(); err != nil {
		s.tb.Fatalf("redistest: restart: %v", err)
	}
}

func (s *Server) own() *process {
	s.tb.Helper()
	if s.process == nil {
		s.tb.Fatalf("redistest: %s (%s) is no process of this test; get one from redistest.Process", s.Name, s.Addr)
	}
	return s.process
}

func (p *process) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// start runs the program and waits until it serves.
func (p *process) start() error {
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor
	args := append(append([]string{}, p.args...), "--port", strconv.Itoa(p.port), "--bind", "127.0.0.1", "--dir", p.dir)
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = p.dir
	cmd.SysProcAttr = dieWithUs()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	done := make(chan struct{})
	p.cmd, p.done = cmd, done
	go func() {
		_ = cmd.Wait() // being killed is an error to Wait; the log tells the rest
		close(done)
	}()
	return p.awaitReady()
}

// awaitReady polls until the process answers and has loaded its data. It compares process ids, for another server
// may have won the race for the port.
func (p *process) awaitReady() error {
	probe := redis.NewClient(&redis.Options{
		Addr: p.addr(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, PoolSize: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer probe.Close()
	pid := fmt.Sprintf("process_id:%d\r\n", p.cmd.Process.Pid)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		// Dialled by hand first: a go-redis client that was refused its only connection waits a second.
		conn, err := net.Dial("tcp", p.addr())
		info := ""
		if err == nil {
			_ = conn.Close()
			info, err = probe.Info(ctx).Result()
		}
		if err == nil && strings.Contains(info, pid) && !strings.Contains(info, "\nloading:1") {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s on port %d ended before it served:\n%s", program, p.port, p.readLog())
		case <-ctx.Done():
			return fmt.Errorf("%s on port %d did not serve within %v (last error: %v):\n%s", program, p.port, patience, err, p.readLog())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (p *process) readLog() string {
	text, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// kill ends the process and reaps it; without one it does nothing.
func (p *process) kill() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Kill() // fails only when the process has ended by itself
	<-p.done
}

// freePort returns a port that nobody listens on. It lies below the range from which kernels take ports for outgoing
// connections, so a killed server finds its port free again, and so does the cluster bus at port + 10000.
func freePort(tb testing.TB) int {
	tb.Helper()
	var err error
	for range 100 {
		port := 10000 + rand.IntN(12000)
		if err = bindable(port); err == nil {
			if err = bindable(port + 10000); err == nil {
				return port
			}
		}
	}
	tb.Fatalf("redistest: found no free port between 10000 and 22000: %v", err)
	return 0
}

func bindable(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}
