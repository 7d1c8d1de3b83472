package delay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Role is the argument that makes this program a proxy: one of its own takes nothing from the goroutines and the
// allocations that are measured.
const Role = "delay"

// A Process is a proxy in a process of its own.
type Process struct {
	Addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
}

// Spawn starts the program that is running as a proxy.
func Spawn(upstream string, oneWay time.Duration) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(program, Role, upstream, oneWay.String())}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the delay proxy has ended: %w", err), p.Close())
	}
	p.Addr = strings.TrimSpace(line)
	return p, nil
}

// Close ends the process by the end of its input.
func (p *Process) Close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// sleepers is how many goroutines may sleep in the kernel before others have to wait for them.
const sleepers = 64

// Serve is what a proxy process does until its input ends. args are those after Role.
func Serve(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("%s takes an address and a duration", Role)
	}
	oneWay, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(sleepers)
	proxy, err := Listen(args[0], oneWay)
	if err != nil {
		return err
	}
	defer proxy.Close()
	if _, err := fmt.Fprintln(out, proxy.Addr()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
