package servers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// patience bounds every wait for a server to do what it was told. Servers answer within milliseconds; a machine with
// more work than cores may take seconds, and a wait that runs out is a failure, so there is no use in being strict.
const patience = 30 * time.Second

// A Server is one process that we started. Its methods may be called by any goroutine, one after the other.
type Server struct {
	args  []string // without what start adds
	dir   string   // working directory: the log, and whatever the server keeps
	port  int
	admin *redis.Client

	mu     sync.Mutex // one method at a time
	closed bool
	cmd    *exec.Cmd
	done   chan struct{} // closed when cmd has exited and was reaped
}

// Start returns an empty server. It keeps nothing on disk unless args say so; they are added to its command line
// ("--appendonly", "yes").
func Start(args ...string) (*Server, error) {
	return launch("", append([]string{"--save", "", "--appendonly", "no"}, args...)...)
}

// launch starts the program with these arguments on a free port. A configuration that is not empty is a file of the
// server's own, which it may write to; it is the first argument.
func launch(configuration string, args ...string) (*Server, error) {
	if err := Look(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redlatch-server-")
	if err != nil {
		return nil, err
	}
	s := &Server{args: args, dir: dir}
	if configuration != "" {
		path := filepath.Join(dir, "configuration")
		s.args = append([]string{path}, args...)
		err = os.WriteFile(path, []byte(configuration), 0o600)
	}
	for range 20 { // another process may take the port between our look and the server's bind
		if err != nil {
			break
		}
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = s.start(); err == nil {
			s.admin = s.newAdmin(func(*redis.Options) {})
			return s, nil
		}
		s.kill()
		if !strings.Contains(s.readLog(), "in use") {
			break
		}
		err = nil
	}
	if err == nil {
		err = errors.New("found no port")
	}
	_ = os.RemoveAll(dir)
	return nil, fmt.Errorf("servers: %w", err)
}

// Addr is where the server listens, host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port is where the server listens on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// Dir is the folder that the server works in. It holds the server's log and what the server keeps, until Close.
func (s *Server) Dir() string { return s.dir }

// Admin is the client with which the server is asked about itself: one connection, and no commands but the caller's.
// It ends with Close.
func (s *Server) Admin() *redis.Client { return s.admin }

// Client returns a client with the default options, after change. The caller closes it.
func (s *Server) Client(change ...func(*redis.Options)) *redis.Client {
	options := &redis.Options{Addr: s.Addr()}
	for _, f := range change {
		f(options)
	}
	return redis.NewClient(options)
}

// Stop freezes the process (SIGSTOP) and returns when it stands still: connections stay open, nobody answers. Where
// the system cannot do that, the error is errors.ErrUnsupported.
func (s *Server) Stop() error { return s.do("stop", s.pause) }

// Continue lets a stopped process run on (SIGCONT). It then executes what clients sent meanwhile.
func (s *Server) Continue() error { return s.do("continue", s.resume) }

// Kill ends the process at once (SIGKILL), stopped or not, and returns when it is gone.
func (s *Server) Kill() error {
	return s.do("kill", func() error { s.kill(); return nil })
}

// Restart starts the process again on the same port, after a Kill if it still runs, and returns when it answers. It
// is empty then, unless it was told to keep data.
func (s *Server) Restart() error {
	return s.do("restart", func() error { s.kill(); return s.start() })
}

// Close ends the process and deletes its folder. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	_ = s.admin.Close() // ends one connection to a process that ends anyway
	s.kill()
	return os.RemoveAll(s.dir)
}

func (s *Server) do(what string, act func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.New("it was closed")
	if !s.closed {
		err = act()
	}
	if err != nil {
		return fmt.Errorf("servers: %s %s: %w", what, s.Addr(), err)
	}
	return nil
}

// start runs the program and waits until it serves.
func (s *Server) start() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor
	args := append(append([]string{}, s.args...), "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir)
	cmd := exec.Command(Program(), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = s.dir
	cmd.SysProcAttr = dieWithUs()
	began, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // see dieWithUs
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		began <- err
		if err == nil {
			_ = cmd.Wait() // being killed is an error to Wait; the log tells the rest
		}
	}()
	if err := <-began; err != nil {
		return err
	}
	s.cmd, s.done = cmd, done
	return s.awaitReady()
}

// awaitReady polls until the process answers and has loaded its data. It compares process ids, for another server
// may have won the race for the port.
func (s *Server) awaitReady() error {
	probe := s.newAdmin(func(o *redis.Options) { o.MaxRetries, o.DialerRetries = -1, 1 })
	defer probe.Close()
	pid := fmt.Sprintf("process_id:%d\r\n", s.cmd.Process.Pid)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		// Dialled by hand first: a go-redis client that was refused its only connection waits a second.
		conn, err := net.Dial("tcp", s.Addr())
		info := ""
		if err == nil {
			_ = conn.Close()
			info, err = probe.Info(ctx).Result()
		}
		if err == nil && strings.Contains(info, pid) && !strings.Contains(info, "\nloading:1") {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("%s on port %d ended before it served:\n%s", Program(), s.port, s.readLog())
		case <-ctx.Done():
			return fmt.Errorf("%s on port %d did not serve within %v (last error: %v):\n%s", Program(), s.port, patience, err, s.readLog())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// newAdmin returns a client with one connection that sends no command of its own.
func (s *Server) newAdmin(change func(*redis.Options)) *redis.Client {
	return s.Client(change, func(o *redis.Options) {
		o.PoolSize, o.DisableIdentity = 1, true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	})
}

func (s *Server) readLog() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// kill ends the process and reaps it; without one it does nothing.
func (s *Server) kill() {
	if s.cmd == nil {
		return
	}
	select {
	case <-s.done:
		return
	default:
	}
	killGroup(s.cmd.Process)
	<-s.done
}

// freePort returns a port that nobody listens on. It lies below the range from which kernels take ports for outgoing
// connections, so a killed server finds its port free again, and so does the cluster bus at port + 10000.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := 10000 + rand.IntN(12000)
		if err = bindable(port); err == nil {
			if err = bindable(port + 10000); err == nil {
				return port, nil
			}
		}
	}
	return 0, fmt.Errorf("found no free port between 10000 and 22000: %w", err)
}

func bindable(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}
