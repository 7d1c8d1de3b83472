package soak

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/test/proxy"
	"github.com/redlatch/redlatch/proof/internal/history"
)

// Worker is the first argument of a program that has to call Work with the second.
const Worker = "worker"

// A process is one worker, as the process that started it sees it.
type process struct {
	job
	soak    *soak
	proxies []*proxy.Proxy // in the order of the servers
	command *exec.Cmd
	input   io.Closer
	done    chan struct{} // closed when it has made its last call, or has ended
	ended   chan struct{} // closed when it has ended

	mu       sync.Mutex
	hindered time.Time // until when it cannot be expected to act
	killed   bool
}

// start starts a worker with a proxy to each server; without proxies if nothing is to be done to it.
func (s *soak) start(j job, servers []string) (*process, error) {
	p := &process{job: j, soak: s, done: make(chan struct{}), ended: make(chan struct{})}
	p.Servers.Proxies = map[string]string{}
	for _, addr := range servers {
		one, err := proxy.Start(addr)
		if err != nil {
			return nil, errors.Join(err, p.closeProxies())
		}
		p.proxies = append(p.proxies, one)
		p.Servers.Proxies[addr] = one.Addr()
	}
	text, err := json.Marshal(p.job)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p.command = exec.Command(self, Worker, string(text))
	p.command.Stderr = os.Stderr
	p.command.SysProcAttr = withUs()
	if p.input, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := make(chan error)
	go func() {
		runtime.LockOSThread() // a worker ends with the thread that started it
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		if began <- err; err != nil {
			return
		}
		_, _ = bufio.NewReader(output).ReadString('\n') // the one thing that it says, or its end
		close(p.done)
		_, _ = io.Copy(io.Discard, output)
		err = p.command.Wait()
		if p.mu.Lock(); !p.killed && err != nil {
			s.broken("worker %s: %v", p.Name, err)
		}
		p.mu.Unlock()
		close(p.ended)
	}()
	if err := <-began; err != nil {
		return nil, errors.Join(fmt.Errorf("soak: start a worker: %w", err), p.closeProxies())
	}
	return p, nil
}

// signal does something to the process, unless it was killed.
func (p *process) signal(what func(pid int) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return
	}
	if err := what(p.command.Process.Pid); err != nil {
		p.soak.broken("signal worker %s: %v", p.Name, err)
	}
}

// kill ends the worker at once. It is on record when it is gone.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	_ = p.command.Process.Kill() // an error says that it has ended
	<-p.ended
	p.soak.record(history.Record{What: history.Kill, Client: p.Name})
}

// stop has the worker end by itself.
func (p *process) stop() {
	_ = p.input.Close()
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		p.soak.broken("worker %s does not end", p.Name)
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

func (p *process) closeProxies() (err error) {
	for _, one := range p.proxies {
		err = errors.Join(err, one.Close())
	}
	return err
}

// aftermath is how long a worker may be busy with what has gone wrong after it has noticed.
const aftermath = 2 * time.Second

// hinder puts down that the worker cannot be expected to act for a time, and until it has noticed.
func (p *process) hinder(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d += p.Timeout + aftermath
	at := time.Now()
	if until := at.Add(d); until.After(p.hindered) {
		if !at.Before(p.hindered) {
			p.soak.record(history.Record{What: history.Suspend, Client: p.Name})
		}
		p.hindered = until
		time.AfterFunc(d, p.recover)
	}
}

func (p *process) recover() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !time.Now().Before(p.hindered) && !p.killed {
		p.soak.record(history.Record{What: history.Resume, Client: p.Name})
	}
}
